//! Small HTTP server for one page: on this computer only, read only, with a token.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::host;
use crate::outcome::{Failure, to_stderr};

/// Maximum time for which the server waits for the bytes of a client.
const WAIT: Duration = Duration::from_millis(250);

/// Maximum number of reads for one request, so that a slow client cannot hold the server.
const READS_MAX: usize = 8;

/// Maximum number of bytes of a request. Browsers send less than a tenth of it.
const REQUEST_MAX: usize = 16 << 10;

/// Seconds after which a browser loads the page again.
const REFRESH_S: u32 = 5;

/// Headers of every answer. The policy lets the page load nothing, from anywhere.
const HEADERS: &str = "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\
    Cache-Control: no-store\r\n\
    Referrer-Policy: no-referrer\r\n\
    X-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: DENY\r\n\
    Connection: close\r\n";

/// Server that waits for browsers until it is dropped.
pub(crate) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    /// Secret that every request must state.
    token: String,
    ended: AtomicBool,
}

/// Reasons for which a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    Malformed,
    OtherHost,
    NotRead,
    Token,
    Path,
}

impl Refusal {
    /// Returns the status line and an explanation.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Malformed => ("400 Bad Request", "this is no HTTP request"),
            Self::OtherHost => ("403 Forbidden", "the page is for this computer only"),
            Self::NotRead => ("405 Method Not Allowed", "the page can only be read"),
            Self::Token => (
                "403 Forbidden",
                "the token is missing or wrong; use the printed address",
            ),
            Self::Path => ("404 Not Found", "there is one page, `/`"),
        }
    }
}

impl Server {
    /// Binds a port of the loopback interface and prints the page's address. 0 takes any free port.
    pub(crate) fn open(port: u16) -> Result<Self, Failure> {
        let refused = |error: io::Error| {
            let hint = "choose another port, or `--watch` for any free one";
            Failure::Machine(format!("--watch: port {port}: {error}\nhint: {hint}"))
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let token = host::token().map_err(|error| Failure::Machine(format!("--watch: {error}")))?;
        to_stderr(&format!("watch  http://{address}/?token={token}"));
        Ok(Self {
            listener,
            address,
            token,
            ended: AtomicBool::new(false),
        })
    }

    /// Serves the page while `work` is done. `page` is called for each request that is granted.
    pub(crate) fn during<R>(
        &self,
        page: &(dyn Fn() -> String + Sync),
        work: impl FnOnce() -> R,
    ) -> R {
        std::thread::scope(|scope| {
            let _end = End(self);
            scope.spawn(|| self.serve(page));
            work()
        })
    }

    fn serve(&self, page: &dyn Fn() -> String) {
        for client in self.listener.incoming() {
            if self.ended.load(Ordering::Relaxed) {
                return;
            }
            match client {
                // A client that goes away does no harm.
                Ok(client) => drop(self.answer(client, page)),
                Err(error) => match error.kind() {
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                    // Out of resources: the run needs them more.
                    _ => return,
                },
            }
        }
    }

    fn answer(&self, mut client: TcpStream, page: &dyn Fn() -> String) -> io::Result<()> {
        client.set_read_timeout(Some(WAIT))?;
        client.set_write_timeout(Some(WAIT))?;
        let head = read_head(&mut client)?;
        let granted = self.grant(head.as_deref().unwrap_or_default());
        let answer = match granted {
            Ok(()) => {
                let refresh = format!("Refresh: {REFRESH_S}\r\n");
                answer("200 OK", "text/html", &refresh, &page())
            }
            Err(refusal) => {
                let (status, words) = refusal.words();
                answer(status, "text/plain", "", &format!("{words}\n"))
            }
        };
        client.write_all(answer.as_bytes())?;
        client.shutdown(Shutdown::Write)
    }

    /// Checks a request: the host, then the method, the token and the path.
    fn grant(&self, head: &str) -> Result<(), Refusal> {
        let mut lines = head.split("\r\n");
        let request: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, "HTTP/1.1" | "HTTP/1.0"] = request[..] else {
            return Err(Refusal::Malformed);
        };
        let headers = lines.filter_map(|line| line.split_once(':'));
        let hosts = headers.filter(|(name, _)| name.eq_ignore_ascii_case("host"));
        let hosts: Vec<&str> = hosts.map(|(_, host)| host.trim()).collect();
        let own = [
            self.address.to_string(),
            format!("localhost:{}", self.address.port()),
        ];
        // A page of another name that leads here could otherwise read this one.
        if hosts.len() != 1 || !own.iter().any(|own| own.eq_ignore_ascii_case(hosts[0])) {
            return Err(Refusal::OtherHost);
        }
        if method != "GET" {
            return Err(Refusal::NotRead);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let tokens = query
            .split('&')
            .filter_map(|pair| pair.strip_prefix("token="));
        let tokens: Vec<&str> = tokens.collect();
        if tokens.len() != 1 || !is_equal(tokens[0].as_bytes(), self.token.as_bytes()) {
            return Err(Refusal::Token);
        }
        if path == "/" {
            Ok(())
        } else {
            Err(Refusal::Path)
        }
    }
}

/// Ends the server's thread when dropped.
struct End<'s>(&'s Server);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a client.
        drop(TcpStream::connect(self.0.address));
    }
}

/// Compares in a time that does not depend on where the bytes differ.
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let differ = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differ == 0
}

/// Reads a request up to the end of its headers. Returns `None` if it is too long or too slow, or
/// no text.
fn read_head(client: &mut TcpStream) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    let mut bytes = [0; 4096];
    for _ in 0..READS_MAX {
        let count = match client.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                break;
            }
            Err(error) => return Err(error),
        };
        head.extend_from_slice(&bytes[..count]);
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(String::from_utf8(head).ok());
        }
        if head.len() > REQUEST_MAX {
            break;
        }
    }
    Ok(None)
}

fn answer(status: &str, kind: &str, more: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\n{more}{HEADERS}\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves a page and returns the answer to each request, with the number of pages made.
    fn answers(requests: &[&str]) -> (Vec<String>, usize) {
        let Ok(server) = Server::open(0) else {
            panic!("no port is free");
        };
        let made = std::sync::atomic::AtomicUsize::new(0);
        let page = || {
            made.fetch_add(1, Ordering::Relaxed);
            "<p>the page</p>".to_owned()
        };
        let ask = |request: &&str| {
            let mut client = TcpStream::connect(server.address).unwrap();
            let request = request.replace("HOST", &server.address.to_string());
            let request = request.replace("PORT", &server.address.port().to_string());
            client
                .write_all(request.replace("TOKEN", &server.token).as_bytes())
                .unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).unwrap();
            answer
        };
        let all = server.during(&page, || requests.iter().map(ask).collect());
        (all, made.into_inner())
    }

    fn status(request: &str) -> String {
        let (answers, made) = answers(&[request]);
        let status = answers[0].lines().next().unwrap_or_default().to_owned();
        assert_eq!(made > 0, status.contains("200"), "{request:?}: {status}");
        status
    }

    #[test]
    fn a_request_with_the_token_gets_the_page_and_every_header_that_closes_it() {
        let request = "GET /?token=TOKEN HTTP/1.1\r\nHost: HOST\r\n\r\n";
        let (all, made) = answers(&[request, request]);
        assert_eq!(made, 2);
        let (head, body) = all[0].split_once("\r\n\r\n").unwrap();
        assert_eq!(body, "<p>the page</p>");
        for line in [
            "HTTP/1.1 200 OK",
            "Content-Length: 15",
            "Refresh: 5",
            "Cache-Control: no-store",
        ] {
            assert!(head.lines().any(|known| known == line), "{line}\n{head}");
        }
        assert!(head.contains("default-src 'none'"), "{head}");
        let by_name = "GET /?token=TOKEN HTTP/1.0\r\nhost: localhost:PORT\r\nAccept: */*\r\n\r\n";
        assert_eq!(status(by_name), "HTTP/1.1 200 OK");
    }

    #[test]
    fn a_missing_or_wrong_token_is_refused() {
        for query in [
            "",
            "?",
            "?token=",
            "?token=0",
            "?token=TOKEN0",
            "?token=TOKEN&token=TOKEN",
            "?Token=TOKEN",
            "?x=TOKEN",
        ] {
            let request = format!("GET /{query} HTTP/1.1\r\nHost: HOST\r\n\r\n");
            assert_eq!(status(&request), "HTTP/1.1 403 Forbidden", "{query}");
        }
    }

    #[test]
    fn any_other_host_is_refused_even_with_the_token() {
        for host in [
            "Host: example.com",
            "Host: 127.0.0.1",
            "Host: example.com:PORT",
            "Host: HOST\r\nHost: example.com",
            "Accept: */*",
            "Host:",
        ] {
            let request = format!("GET /?token=TOKEN HTTP/1.1\r\n{host}\r\n\r\n");
            assert_eq!(status(&request), "HTTP/1.1 403 Forbidden", "{host}");
        }
    }

    #[test]
    fn nothing_but_reading_the_one_page_is_possible() {
        for (request, told) in [
            ("POST /?token=TOKEN HTTP/1.1\r\nHost: HOST\r\n\r\n", "405"),
            ("HEAD /?token=TOKEN HTTP/1.1\r\nHost: HOST\r\n\r\n", "405"),
            (
                "GET /etc/passwd?token=TOKEN HTTP/1.1\r\nHost: HOST\r\n\r\n",
                "404",
            ),
            ("GET /../?token=TOKEN HTTP/1.1\r\nHost: HOST\r\n\r\n", "404"),
            ("GET /?token=TOKEN HTTP/2\r\nHost: HOST\r\n\r\n", "400"),
            ("GET /?token=TOKEN\r\n\r\n", "400"),
            ("GET /?token=TOKEN HTTP/1.1\r\nHost: HOST", "400"),
            ("", "400"),
        ] {
            assert!(status(request).contains(told), "{request:?}");
        }
        let long = format!(
            "GET /?token=TOKEN HTTP/1.1\r\nHost: HOST\r\nA: {}\r\n\r\n",
            "a".repeat(9 << 10)
        );
        assert_eq!(status(&long), "HTTP/1.1 200 OK");
    }

    #[test]
    fn a_client_that_says_nothing_keeps_nobody_out_for_long_and_the_end_waits_for_none() {
        let Ok(server) = Server::open(0) else {
            panic!("no port is free");
        };
        let silent = server.during(&String::new, || TcpStream::connect(server.address));
        assert!(silent.is_ok());
        let address = server.address;
        drop(server);
        assert!(TcpStream::connect(address).is_err());
    }
}

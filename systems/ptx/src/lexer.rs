//! Lexer: splits PTX text into tokens (PTX ISA, chapter 4 "Syntax").

use crate::diagnostics::{Span, SpannedError};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Identifier, register, label or opcode: letters, digits, `_`, `$`, leading `%`.
    Word,
    /// A directive or modifier with its dot, e.g. `.global` or `.shared::cta`.
    Dot,
    Integer(u64),
    /// A `0f` literal, as the bits of a single.
    Single(u32),
    /// A `0d` literal or decimal fraction, as the bits of a double.
    Double(u64),
    /// A string literal whose escapes are not interpreted.
    Text,
    Punct(char),
    End,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// Returns all tokens of `text`, followed by [`Kind::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, SpannedError> {
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        at: 0,
    };
    let mut found = Vec::with_capacity(text.len() / 4);
    loop {
        lexer.skip_blank()?;
        let start = lexer.at;
        let kind = lexer.token()?;
        found.push(Token {
            kind,
            span: Span {
                start: start as u32,
                end: lexer.at as u32,
            },
        });
        if kind == Kind::End {
            return Ok(found);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn complaint(&self, start: usize, message: &str) -> SpannedError {
        let end = self.at.max(start + 1).min(self.bytes.len().max(start));
        SpannedError::new(
            Span {
                start: start as u32,
                end: end as u32,
            },
            message,
        )
    }

    fn skip_while(&mut self, test: impl Fn(u8) -> bool) {
        while self.at < self.bytes.len() && test(self.bytes[self.at]) {
            self.at += 1;
        }
    }

    fn skip_blank(&mut self) -> Result<(), SpannedError> {
        loop {
            self.skip_while(|byte| byte.is_ascii_whitespace());
            match (self.peek(0), self.peek(1)) {
                (b'/', b'/') => self.skip_while(|byte| byte != b'\n'),
                // Line markers of a preprocessor and DWARF lines of old compilers.
                (b'#', _) | (b'@', b'@') => self.skip_while(|byte| byte != b'\n'),
                (b'/', b'*') => match self.text[self.at + 2..].find("*/") {
                    Some(length) => self.at += length + 4,
                    None => return Err(self.complaint(self.at, "unterminated comment")),
                },
                _ => return Ok(()),
            }
        }
    }

    fn token(&mut self) -> Result<Kind, SpannedError> {
        let start = self.at;
        let first = self.peek(0);
        match first {
            0 if self.at >= self.bytes.len() => Ok(Kind::End),
            b'0'..=b'9' => self.number(),
            b'%' | b'_' | b'$' => {
                self.at += 1;
                self.skip_while(is_word);
                Ok(if self.at == start + 1 && first == b'%' {
                    Kind::Punct('%')
                } else {
                    Kind::Word
                })
            }
            byte if byte.is_ascii_alphabetic() => {
                self.skip_while(is_word);
                Ok(Kind::Word)
            }
            b'.' => {
                self.at += 1;
                self.skip_while(is_word);
                while self.peek(0) == b':' && self.peek(1) == b':' && is_word(self.peek(2)) {
                    self.at += 2;
                    self.skip_while(is_word);
                }
                if self.at == start + 1 {
                    return Err(self.complaint(start, "expected a name after `.`"));
                }
                Ok(Kind::Dot)
            }
            b'"' => {
                self.at += 1;
                self.skip_while(|byte| byte != b'"' && byte != b'\n');
                if self.peek(0) != b'"' {
                    return Err(self.complaint(start, "unterminated string"));
                }
                self.at += 1;
                Ok(Kind::Text)
            }
            b',' | b';' | b':' | b'[' | b']' | b'{' | b'}' | b'(' | b')' | b'=' | b'+' | b'-'
            | b'!' | b'@' | b'|' | b'<' | b'>' | b'*' | b'/' | b'~' | b'&' | b'^' | b'?' => {
                self.at += 1;
                Ok(Kind::Punct(first as char))
            }
            _ => {
                let character = self.text[start..].chars().next().unwrap_or('?');
                self.at += character.len_utf8();
                Err(self.complaint(start, &format!("unexpected character `{character}`")))
            }
        }
    }

    fn number(&mut self) -> Result<Kind, SpannedError> {
        let start = self.at;
        self.skip_while(is_word);
        // Decimal fraction: `1.5`, `2.0e3`, `1.0e-3`.
        if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            self.at += 1;
            self.skip_while(is_word);
            if matches!(self.bytes[self.at - 1], b'e' | b'E') && matches!(self.peek(0), b'+' | b'-')
            {
                self.at += 1;
                self.skip_while(is_word);
            }
            let value: f64 = self.text[start..self.at]
                .parse()
                .map_err(|_| {
                    let hint = "fractions are decimal, such as `1.5`; bit patterns are `0f` with eight hexadecimal digits for single precision, or `0d` with sixteen for double precision";
                    self.complaint(start, "not a decimal fraction").hint(hint)
                })?;
            return Ok(Kind::Double(value.to_bits()));
        }
        let word = &self.text[start..self.at];
        let bytes = word.as_bytes();
        let hex = |digits: &str| u64::from_str_radix(digits, 16);
        let value = match bytes.get(1).copied() {
            Some(b'f' | b'F') if bytes[0] == b'0' && word.len() == 10 => {
                return hex(&word[2..])
                    .map(|bits| Kind::Single(bits as u32))
                    .map_err(|_| self.complaint(start, "`0f` requires eight hexadecimal digits"));
            }
            Some(b'd' | b'D') if bytes[0] == b'0' && word.len() == 18 => {
                return hex(&word[2..]).map(Kind::Double).map_err(|_| {
                    self.complaint(start, "`0d` requires sixteen hexadecimal digits")
                });
            }
            _ => {
                let digits = word.strip_suffix(['U', 'u']).unwrap_or(word);
                if let Some(rest) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
                    hex(rest)
                } else if let Some(rest) = digits.strip_prefix("0b").or(digits.strip_prefix("0B")) {
                    u64::from_str_radix(rest, 2)
                } else if digits.len() > 1 && digits.starts_with('0') {
                    u64::from_str_radix(&digits[1..], 8)
                } else {
                    digits.parse()
                }
            }
        };
        value
            .map(Kind::Integer)
            .map_err(|_| self.complaint(start, "not a valid PTX number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text)
            .expect("valid text")
            .into_iter()
            .map(|token| token.kind)
            .collect()
    }

    #[test]
    fn literals_keep_their_bits() {
        assert_eq!(
            kinds("0x1F 017 0b101 42U 0f3F800000 0d3FF0000000000000 6.5"),
            [
                Kind::Integer(31),
                Kind::Integer(15),
                Kind::Integer(5),
                Kind::Integer(42),
                Kind::Single(0x3f80_0000),
                Kind::Double(0x3ff0_0000_0000_0000),
                Kind::Double(6.5f64.to_bits()),
                Kind::End
            ]
        );
    }

    #[test]
    fn modifiers_and_registers_are_single_tokens() {
        let text = "ld.shared::cta.v2.u32 %rd1 $L__BB0_1: // rest\n/* no */ _";
        assert_eq!(
            kinds(text),
            [
                Kind::Word,
                Kind::Dot,
                Kind::Dot,
                Kind::Dot,
                Kind::Word,
                Kind::Word,
                Kind::Punct(':'),
                Kind::Word,
                Kind::End
            ]
        );
    }

    #[test]
    fn bad_characters_and_open_comments_are_placed() {
        assert_eq!(tokens("add ` 1").expect_err("bad").span.start, 4);
        assert_eq!(tokens("add /* 1").expect_err("bad").span.start, 4);
    }
}

use warpweave_standalone::dram::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let s = load(&a[1]).unwrap();
    let mut rows = read_requests(std::path::Path::new(&a[2])).unwrap();
    let n: u32 = a[3].parse().unwrap();
    let stretch: u64 = a.get(4).map_or(1, |x| x.parse().unwrap());
    for r in &mut rows { r.arrival *= stretch; }
    let mut best = f64::MAX;
    for _ in 0..n {
        let t = cpu();
        drive(&s, &rows, false).unwrap();
        best = best.min(cpu() - t);
    }
    println!("{:.0} requests/s", rows.len() as f64 / best);
}
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    s.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

//! Serves metrics to this machine: just enough HTTP for a scraper and a browser.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use super::metrics::Metrics;

/// A scraper that is slower than this gets nothing.
const PATIENCE: Duration = Duration::from_secs(2);
/// No request is longer.
const REQUEST_BYTES_MAX: usize = 16 << 10;
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT_TYPE: &str = "text/plain; charset=utf-8";

/// Serves the metrics from a thread of its own until the process ends; says where. Port 0 takes any free one.
pub(super) fn serve(port: u16, metrics: Metrics) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let address = listener.local_addr()?;
    std::thread::Builder::new().name("metrics".into()).spawn(move || {
        for stream in listener.incoming().flatten() {
            // Whoever hung up will come again.
            let _ = answer(stream, &metrics);
        }
    })?;
    Ok(address)
}

fn answer(mut stream: TcpStream, metrics: &Metrics) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = read_request(&mut stream)?;
    let (status, kind, body) = response(&request, metrics);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())
}

/// The request up to the empty line that ends it.
fn read_request(stream: &mut TcpStream) -> io::Result<String> {
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_BYTES_MAX {
        match stream.read(&mut part)? {
            0 => break,
            count => request.extend_from_slice(&part[..count]),
        }
    }
    Ok(String::from_utf8_lossy(&request).into_owned())
}

fn response(request: &str, metrics: &Metrics) -> (&'static str, &'static str, String) {
    let mut words = request.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match (method, path.split('?').next().unwrap_or_default()) {
        ("GET", "/metrics") => ("200 OK", METRICS_TYPE, metrics.text()),
        ("GET", "/") => ("200 OK", TEXT_TYPE, "The metrics of this job are at /metrics.\n".to_owned()),
        ("GET", _) => ("404 Not Found", TEXT_TYPE, "There is only /metrics here.\n".to_owned()),
        _ => ("405 Method Not Allowed", TEXT_TYPE, "Metrics can only be read: GET /metrics\n".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::metrics::Shared;
    use super::super::status::Status;
    use super::*;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn the_newest_figures_are_served() {
        let status = Shared::default();
        let address = serve(0, Metrics::new("train.py", status.clone())).expect("a free port");
        assert!(address.ip().is_loopback());
        for steps in [3, 4] {
            status.set(Status { steps, ..Status::default() });
            let answer = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains(METRICS_TYPE), "{answer}");
            assert!(answer.contains(&format!("\noomph_steps_total {steps}\n")), "{answer}");
        }
    }

    #[test]
    fn what_is_no_question_for_metrics_is_refused() {
        let address = serve(0, Metrics::new("train.py", Shared::default())).expect("a free port");
        for (request, status) in [
            ("GET /etc/passwd HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("\r\n\r\n", "405"),
            ("GET / HTTP/1.0\r\n\r\n", "200"),
            ("GET /metrics?name[]=x HTTP/1.1\r\n\r\n", "200"),
        ] {
            let answer = ask(address, request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request:?}: {answer}");
        }
        let endless = ask(address, &"x".repeat(2 * REQUEST_BYTES_MAX));
        assert!(endless.is_empty() || endless.starts_with("HTTP/1.1 405"), "{endless}");
        assert!(ask(address, "GET / HTTP/1.1\r\n\r\n").contains("200"), "it still answers");
    }

    #[test]
    fn a_port_that_is_taken_is_an_error() {
        let first = serve(0, Metrics::new("a", Shared::default())).expect("a free port");
        assert!(serve(first.port(), Metrics::new("b", Shared::default())).is_err());
    }
}

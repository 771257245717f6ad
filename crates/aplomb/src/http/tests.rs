//! Answers as servers write them, and as they should not.

use std::net::TcpListener;

use super::*;

fn read(answer: &str) -> Result<String, String> {
    let body = read_answer(&mut answer.as_bytes(), 20).map_err(|fault| match fault {
        HttpFault::Network(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            HttpFault::CutOff.to_string()
        }
        other => other.to_string(),
    })?;
    Ok(String::from_utf8(body).expect("text"))
}

#[test]
fn a_body_is_as_long_as_its_head_says() {
    let body = Ok("{\"keys\":[]}".to_owned());
    assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"keys\":[]}beyond"), body);
    assert_eq!(read("HTTP/1.0 200\nContent-Type: x\n\n{\"keys\":[]}"), body);
    let chunked = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\ntransfer-encoding: Chunked\r\n\r\n";
    assert_eq!(read(&format!("{chunked}2;x=y\r\n{{\"\r\n9\r\nkeys\":[]}}\r\n0\r\n\r\n")), body);
}

#[test]
fn what_is_no_answer_or_none_of_use_is_refused() {
    for (answer, why) in [
        ("", "cut off"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n1234", "cut off"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5", "cut off"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123", "cut off"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n", "cut off"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "not HTTP"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "not HTTP"),
        ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "not HTTP"),
        ("HTTP/1.1 200 OK\r\nno field\r\n\r\n", "not HTTP"),
        ("HTTP/2 200\r\n\r\n", "not HTTP"),
        ("SSH-2.0-x\r\n", "not HTTP"),
        ("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n", "302"),
        ("HTTP/1.1 404 Not Found\r\n\r\n", "404"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n", "longer than 20"),
        ("HTTP/1.1 200 OK\r\n\r\n123456789012345678901", "longer than 20"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n12345678901234567890\r\n1\r\n",
            "longer than 20",
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", "longer than 20"),
    ] {
        let refused = read(answer).expect_err(answer);
        assert!(refused.contains(why), "{answer:?}: {refused}");
    }
    let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(1 << 20));
    assert!(read(&endless).expect_err("a line without an end").contains("not HTTP"));
}

/// A server that reads a request and then does as it is told.
fn server(answer: impl FnOnce(TcpStream) + Send + 'static) -> HttpUrl {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut request = [0; 4096];
        let length = stream.read(&mut request).expect("a request");
        assert!(request[..length].starts_with(b"GET /k?a=b HTTP/1.1\r\nHost: 127.0.0.1:"));
        answer(stream);
    });
    HttpUrl { is_secure: false, host: "127.0.0.1".to_owned(), port, target: "/k?a=b".to_owned() }
}

#[test]
fn a_server_is_asked_for_what_the_url_names() {
    let url = server(|mut stream| stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nkeys").expect("a client"));
    assert_eq!(get(&url, None, None, Duration::from_secs(60), 20).expect("an answer"), b"keys");
}

#[test]
fn a_server_that_does_not_answer_or_drips_is_given_up() {
    let patience = Duration::from_millis(200);
    let (held, hold) = std::sync::mpsc::channel();
    let frozen = server(move |stream| held.send(stream).expect("the test waits"));
    assert!(matches!(get(&frozen, None, None, patience, 20), Err(HttpFault::Late(_))));
    drop(hold);
    let dripping = server(|mut stream| {
        while stream.write_all(b"H").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    assert!(matches!(get(&dripping, None, None, patience, 20), Err(HttpFault::Late(_))));
}

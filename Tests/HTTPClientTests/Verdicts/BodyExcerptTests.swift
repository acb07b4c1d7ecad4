import HTTPClient
import Testing

/// The pages are those of nginx, Apache, IIS, Google, HAProxy and S3. Two verdicts quote bodies: of HTTP and of webhooks.
@Suite struct BodyExcerptTests {
    private static let nginx = """
        <html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r
        <hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n
        """

    @Test(arguments: [
        (nginx, 404), ("Not Found\n", 404), ("404 page not found", 404), ("", 500), ("  \r\n", 500),
        (
            "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n</body></html>",
            503
        ),
        (
            "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n<title>413 Request Entity Too Large</title>",
            413
        ),
        ("<!doctype html><title>Error 404 (Not Found)!!1</title><style>*{margin:0}</style><p>gone", 404),
        ("<html><head></head><body><div>x</div></body></html>", 502), ("<HTML><TITLE></TITLE>", 502),
        ("<html><head><title>502 Bad Gateway", 502), ("{}", 500),
    ])
    func `a page that only repeats the status adds nothing`(_ body: String, _ status: Int) {
        #expect(BodyExcerpt.text(body, status: status, phrase: "").isEmpty)
        #expect(BodyExcerpt.clause(body, status: status, phrase: "").isEmpty)
    }

    @Test(arguments: [
        ("Disk full\n", "Disk full"), ("{\"error\":\"no such bucket\"}", "{\"error\":\"no such bucket\"}"),
        (
            "\u{FEFF}\n<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=utf-8><TITLE data-x=\"1\">\n Upload quota &amp; "
                + "limits\n exceeded</TITLE>", "Upload quota & limits exceeded"
        ),
        ("<html><body><h1>Wartung bis <b>12:00</b></h1></body></html>", "Wartung bis 12:00"),
        (
            "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>",
            "AccessDenied Request has expired"
        ),
        ("<3 files are too many", "<3 files are too many"), ("a &amp;lt; b", "a &amp;lt; b"),
    ])
    func `words that say more than the status are kept, without tags`(_ body: String, _ text: String) {
        #expect(BodyExcerpt.text(body, status: 400, phrase: "Bad Request") == text)
    }

    @Test func `a phrase of the server's own counts as the status`() {
        #expect(BodyExcerpt.text("<title>Come back later</title>", status: 503, phrase: "Come Back Later").isEmpty)
        #expect(BodyExcerpt.text("<title>Come back later</title>", status: 503, phrase: "") == "Come back later")
    }

    @Test func `no text has a tag or is long, wherever the page is cut`() {
        let page =
            "<!DOCTYPE html><html><head><title>Quota of the project</title></head><body><p>\(String(repeating: "x", count: 900))"
        for end in page.indices {
            let text = BodyExcerpt.text(String(page[..<end]), status: 403, phrase: "Forbidden")
            #expect(!text.contains("<html") && !text.contains("<title") && text.count <= 201)
        }
    }
}

import Testing

@testable import DoorPages

struct HTMLTests {
    @Test(arguments: ["\"><svg onload=alert(1)>", "</title><script>", "a & b", "it's", "x\u{0}y\u{1B}[31m"])
    func `a hostile text is text, and a hostile value stays in its quotes`(text: String) {
        let markup = tag(.p, .title(text)) { text }.markup
        #expect(markup.hasPrefix("<p title=\"") && markup.hasSuffix("</p>"))
        #expect(markup.filter { $0 == "<" }.count == 2 && markup.filter { $0 == "\"" }.count == 2, "\(markup)")
        #expect(!markup.unicodeScalars.contains { $0.value < 0x20 }, "\(markup)")
    }

    @Test func `a builder joins texts, elements, conditions and loops`() {
        let isShown = false
        let html = tag(.ul) {
            for number in 1...2 { tag(.li) { "\(number)" } }
            if isShown { tag(.li) { "hidden" } }
        }
        #expect(html.markup == "<ul><li>1<li>2</ul>", "the end of a list item is implied")
    }

    @Test func `a void element has no end`() {
        #expect(tag(.input, .the(.name, "a"), .flag(.required)).markup == "<input name=\"a\" required>")
    }

    @Test func `each part of a URL is escaped`() {
        let url = PageURLs(baseURL: "http://localhost:1/sluice")
        let text = url(PageLink("links", "a/b?c#d\"", query: [("q", "1&2 ü")])).text
        #expect(text == "/sluice/links/a%2Fb%3Fc%23d%22?q=1%262%20%C3%BC")
        #expect(PageURLs(baseURL: "http://localhost:1")(.overview).text == "/")
    }

    @Test(arguments: [
        "//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", "", "/a\nb", "/ü",
    ])
    func `a path of another server is not taken`(text: String) {
        #expect(OwnPath(text) == nil)
    }

    @Test func `a path of this server is taken`() {
        #expect(OwnPath("/commands?status=error")?.text == "/commands?status=error")
    }
}

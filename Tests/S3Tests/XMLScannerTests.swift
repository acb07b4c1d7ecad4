import TestSupport
import Testing

@testable import S3

@Suite struct XMLScannerTests {
    /// The events as text: `<a`, `"text"`, `a>`.
    private func events(_ bytes: [UInt8]) throws -> String {
        var scanner = try XMLScanner(bytes)
        var words: [String] = []
        while let event = try scanner.next() {
            switch event {
            case .start(let name): words.append("<\(name)")
            case .text(let text): words.append("\"\(text)\"")
            case .end(let name): words.append("\(name)>")
            }
        }
        return words.joined(separator: " ")
    }

    @Test(arguments: [
        ("<a/>", "<a a>"), ("<a></a>", "<a a>"), ("<a>x</a>", "<a \"x\" a>"), ("<a ></a >", "<a a>"),
        ("<?xml version=\"1.0\"?>\n<a>x</a>\n", "<a \"x\" a>"), (" \r\n\t<?xml?><a/>", "<a a>"),
        ("\u{FEFF}<a/>", "<a a>"), ("<s:a xmlns:s=\"http://x/>\"><s:b/></s:a>", "<a <b b> a>"),
        ("<a b='\"' c=\"'\" d = \"e\"/>", "<a a>"), ("<a><!-- <b> -- > --></a>", "<a a>"),
        ("<!----><a/><!--x-->", "<a a>"), ("<a><?p ?></a>", "<a a>"),
        ("<a><![CDATA[<&]]]]></a>", "<a \"<&]]\" a>"), ("<a><![CDATA[]]></a>", "<a \"\" a>"),
        ("<a>&lt;&gt;&amp;&quot;&apos;</a>", "<a \"<>&\"'\" a>"),
        ("<a>x&#38;y&#x1F600;&#x0026;</a>", "<a \"x&y😀&\" a>"),
        ("<a>&amp;lt;</a>", "<a \"&lt;\" a>"), ("<a>&#1;&#xA;</a>", "<a \"\u{1}\n\" a>"),
        ("<日本 é=\"1\">ä</日本>", "<日本 \"ä\" 日本>"), ("<a>></a>", "<a \">\" a>"),
    ])
    func `a well-formed document is read`(_ text: String, _ expected: String) throws {
        #expect(try events(Array(text.utf8)) == expected)
    }

    @Test(arguments: [
        ("", "no element"), ("  ", "no element"), ("<?xml?>", "no element"), ("x", "outside"), ("<a/>x", "outside"),
        ("<a>", "cut off within <a>"), ("<a><b></b>", "cut off within <a>"), ("<a>x", "cut off within <a>"),
        ("<a", "cut off"), ("<a ", "cut off"), ("<a b", "no value"), ("<a b=", "not quoted"), ("<a b=c>", "not quoted"),
        ("<a b=\"c", "cut off"), ("<a b=\"<\"/>", "contains a “<”"), ("<a/", "unexpected character"),
        ("<a></b>", "closes no open element"), ("</a>", "closes no open element"), ("<a></a", "cut off"),
        ("<a></s:a>", "closes no open element"), ("<a/><b/>", "second element"), ("<>", "name is missing"),
        ("<1/>", "name is missing"), ("<a>&</a>", "no semicolon"), ("<a>&x;</a>", "unknown"),
        ("<a>&#0;</a>", "unknown"),
        ("<a>&#xD800;</a>", "unknown"), ("<a>&#x110000;</a>", "unknown"), ("<a>&#;</a>", "unknown"),
        ("<a>&#+5;</a>", "unknown"), ("<a>&#x-5;</a>", "unknown"), ("<a>&amp</a>", "no semicolon"),
        ("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", "document type"), ("<![CDATA[x]]>", "document type"),
        ("<a><!-- x</a>", "comment is cut off"), ("<!-->", "comment is cut off"), ("<a><![CDATA[x</a>", "CDATA"),
        ("<?xml", "processing instruction"), ("<a b=\"1\"c=\"2\"/>", "unexpected character"), ("&lt;", "outside"),
        ("<\(String(repeating: "n", count: 257))/>", "longer than 256"),
    ])
    func `a malformed or cut document is an error with its position`(_ text: String, _ words: String) throws {
        let error = try #require(throws: XMLError.self) { try events(Array(text.utf8)) }
        #expect(error.problem.contains(words), "\(error)")
        #expect(error.position <= text.utf8.count)
    }

    @Test func `depth and length are limited`() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)).utf8)
        }
        _ = try events(nested(XMLScanner.maxDepth))
        #expect(throws: XMLError.self) { try events(nested(XMLScanner.maxDepth + 1)) }
        let text = "<a>" + String(repeating: " ", count: XMLScanner.maxLength - 7) + "</a>"
        _ = try events(Array(text.utf8))
        #expect(throws: XMLError.self) { try events(Array((text + " ").utf8)) }
    }

    @Test func `a document that is not UTF-8 is an error`() {
        for bytes in [[0x3C, 0x61, 0x3E, 0xFF, 0x3C, 0x2F, 0x61, 0x3E], [0xFF, 0xFE, 0x3C, 0x00]] as [[UInt8]] {
            #expect(throws: XMLError.self) { try events(bytes) }
        }
    }

    @Test func `every prefix of a document is an error, and no change of a byte traps`() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <s:Error xmlns:s="x"><!-- c --><Code>A&amp;B</Code><Message><![CDATA[<]]>&#x41;</Message><R/></s:Error>
            """
        let document = Array(text.utf8)
        _ = try events(document)
        for length in 0..<document.count {
            #expect(throws: XMLError.self) { try events(Array(document[..<length])) }
        }
        var random = SeededRandom.announced("changed XML")
        for _ in RandomRounds("changed XML", 500...5000) {
            var changed = document
            for _ in 0...random.number(in: 0..<4) {
                switch random.number(in: 0..<3) {
                case 0: changed[random.number(in: 0..<changed.count)] = random.bytes(1)[0]
                case 1: changed.remove(at: random.number(in: 0..<changed.count))
                default:
                    changed.insert(
                        Array("<>/&;!?-[]\"'= ab".utf8)[random.number(in: 0..<16)],
                        at: random.number(in: 0..<changed.count))
                }
            }
            if let seen = try? events(changed) { #expect(seen.hasPrefix("<")) }
        }
    }

    @Test func `escaped text comes back`() throws {
        let text = "a<b>&\"'\u{1}\n\u{7F}é😀"
        let bytes = Array("<a>\(XMLText.escaped(text))</a>".utf8)
        #expect(try XMLRecord(Array("<r>".utf8) + bytes + Array("</r>".utf8)).fields["a"] == text)
    }
}

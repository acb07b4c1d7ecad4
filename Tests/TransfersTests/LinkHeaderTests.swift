import TestSupport
import Testing

@testable import Transfers

/// The `Link` fields of operations.md, section 5.3, each with the parser that failed on it.
@Suite struct LinkHeaderTests {
    static let cases: [([String], LinkHeader.Next)] = [
        ([], .none), ([""], .none), ([" , ,"], .none),
        (["<https://h/?page=2>; rel=\"next\""], .reference("https://h/?page=2")),
        (["<https://h/?page=2>; rel=next"], .reference("https://h/?page=2")),
        (["<https://h/?page=2>;rel=next"], .reference("https://h/?page=2")),
        (["<https://h/?page=2> ; rel = \"next\" ;"], .reference("https://h/?page=2")),
        (["<https://h/?page=1>; rel=\"prev\", <https://h/?page=3>; rel=\"next\""], .reference("https://h/?page=3")),
        // Several fields (PowerShell#5257).
        (["<https://h/1>; rel=prev", "<https://h/3>; rel=next"], .reference("https://h/3")),
        // Commas and semicolons within <…> (scrutineer#543, httr2#854).
        (["<https://h/?ids=1,2;3,4&q=a>; rel=\"next\""], .reference("https://h/?ids=1,2;3,4&q=a")),
        (["<https://h/?ids=1,2>; rel=\"first\",<https://h/?ids=3,4>; rel=\"next\""], .reference("https://h/?ids=3,4")),
        // Commas, semicolons and escaped quotes within quotes (guzzle/psr7#595).
        (["<https://h/2>; title=\"a, b; rel=next \\\" c\"; rel=\"next\""], .reference("https://h/2")),
        (["<https://h/2>; title=\"<x>; rel=next\"; rel=prev"], .none),
        // rel anywhere, as a list of relations, in any case.
        (["<https://h/2>; title=x; rel=\"prev  next\"; type=\"a/b\""], .reference("https://h/2")),
        (["<https://h/2>; REL=\"NEXT\""], .reference("https://h/2")),
        (["<https://h/2>; rel=\"https://h/rels/next\""], .none),
        // The first rel counts.
        (["<https://h/2>; rel=\"prev\"; rel=\"next\""], .none),
        (["<https://h/2>; rel=\"next\"; rel=\"prev\""], .reference("https://h/2")),
        // The first next counts.
        (["<https://h/2>; rel=next, <https://h/3>; rel=next"], .reference("https://h/2")),
        // Another relation, or none.
        (["<https://h/2>; rel=next-page"], .none), (["<https://h/2>; rel=\"nextpage\""], .none),
        (["<https://h/2>"], .none),
        (["<https://h/2>; rev=next"], .none), (["<https://h/2>; rel"], .none), (["<https://h/2>; rel*=next"], .none),
        // Relative references and the empty one.
        (["</items?page=2>; rel=next"], .reference("/items?page=2")), (["<?page=2>; rel=next"], .reference("?page=2")),
        (["<>; rel=next"], .reference("")), (["< https://h/2 >; rel=next"], .reference("https://h/2")),
        // A comma at the end, and empty members.
        (["<https://h/2>; rel=\"next\","], .reference("https://h/2")),
        ([",, <https://h/2>;; rel=\"next\" , ,"], .reference("https://h/2")),
        // Another resource's next.
        (["<https://h/2>; rel=next; anchor=\"/other\""], .none),
        (["<https://h/2>; rel=next; anchor=\"\""], .reference("https://h/2")),
        // Malformed parts: a next in one is not the end.
        (["https://h/2; rel=next"], .unreadable("https://h/2; rel=next")),
        (["<https://h/2; rel=next"], .unreadable("<https://h/2; rel=next")),
        (["<https://h/2>; rel=\"next"], .unreadable("<https://h/2>; rel=\"next")),
        (["<https://h/2> rel=\"next\""], .unreadable("<https://h/2> rel=\"next\"")),
        (["<https://h/2; rel=\"next\", <https://h/9>; rel=\"last\""], .unreadable("<https://h/2; rel=\"next\"")),
        (["https://h/1; rel=prev, <https://h/2>; rel=next"], .reference("https://h/2")),
        (["<a>; title=\"x\\\", y\" z; rel=next, <b>; rel=next"], .reference("b")),
        (["garbage", "<https://h/1>; rel=prev"], .none),
        (["garbage, <https://h/2>; rel=next"], .reference("https://h/2")),
        (["<https://h/2>; =x; rel=next"], .unreadable("<https://h/2>; =x; rel=next")),
    ]

    @Test(arguments: cases.indices)
    func `the next page is found, or its absence is certain`(index: Int) {
        let (fields, next) = Self.cases[index]
        #expect(LinkHeader(fields).next == next, "\(fields)")
    }

    @Test func `all links are read with their relations`() {
        let header = LinkHeader(["<a>; rel=\"first Prev\", <b>; rel=last", "<c>"])
        #expect(
            header.links == [
                .init(reference: "a", relations: ["first", "prev"]), .init(reference: "b", relations: ["last"]),
                .init(reference: "c"),
            ])
        #expect(header.malformed.isEmpty)
    }

    @Test func `the number of links is bounded`() {
        let header = LinkHeader([String(repeating: "<a>; rel=prev, x, ", count: 20_000)])
        #expect(header.links.count + header.malformed.count == LinkHeader.maxLinks)
    }

    @Test func `random fields are read without a trap`() {
        var random = SeededRandom.announced("link header fuzz")
        let parts = [
            "<", ">", ";", ",", "\"", "\\", "=", " ", "\t", "rel", "next", "https://h/?a=1,2", "anchor", "é", "*", "\0",
        ]
        for _ in RandomRounds("link header fuzz", 2000...20_000) {
            let fields = (0..<random.number(in: 1..<3)).map { _ in
                (0..<random.number(in: 0..<20)).map { _ in parts[random.number(in: 0..<parts.count)] }.joined()
            }
            // A field that is sound by itself stays readable beside any other.
            if case .none = LinkHeader(fields).next {
                #expect(LinkHeader(fields + ["<ok>; rel=next"]).next == .reference("ok"), "\(fields)")
            }
        }
    }
}

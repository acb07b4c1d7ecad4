import Commands
import TestSupport
import Testing

@testable import Fetch
@testable import Transfers

@Suite struct CacheControlTests {
    private func parse(_ lines: String...) -> CacheControl {
        CacheControl(HeaderFields(lines.map { HTTPField("Cache-Control", $0) }))
    }

    @Test(arguments: [
        ("max-age=60", DeltaSeconds.seconds(60)), ("MAX-AGE=60", .seconds(60)), ("max-age=\"60\"", .seconds(60)),
        ("max-age=\"6\\0\"", .seconds(60)), ("max-age=060", .seconds(60)), ("max-age=0", .seconds(0)),
        ("max-age=2147483648", .seconds(2_147_483_648)), ("max-age=99999999999999999999", .seconds(2_147_483_648)),
        ("max-age=60, max-age=1", .seconds(60)), ("max-age=abc, max-age=60", .invalid),
        (",, max-age=60 ,", .seconds(60)), ("ext=\"a, max-age=1\", max-age=60", .seconds(60)),
        ("ext=\"\\\"\", max-age=60", .seconds(60)), ("max-age=abc", .invalid), ("max-age", .invalid),
        ("max-age=", .invalid), ("max-age=-1", .invalid), ("max-age=+1", .invalid), ("max-age=1.0", .invalid),
        ("max-age='1'", .invalid), ("max-age =1", .invalid), ("max-age= 1", .invalid), ("max-age=1 2", .invalid),
        ("max-age=\"1\"2", .invalid), ("max-age=60; x=1", .invalid), ("max-age=\u{0661}", .invalid),
    ])
    func `max-age is read in every form`(_ value: String, _ expected: DeltaSeconds) {
        let control = parse(value)
        #expect(control.maxAge == expected)
        #expect(!control.isMalformed)
    }

    @Test func `of two lines the first value counts`() {
        #expect(parse("max-age=60", "max-age=1").maxAge == .seconds(60))
        #expect(parse("no-cache", "max-age=60").isNoCache)
    }

    @Test func `a directive that restricts counts with an argument, and one that permits does not`() {
        let control = parse("no-cache=\"set-cookie\", private=\"x, y\", no-store=1, must-revalidate=x")
        #expect(control.isNoCache && control.isPrivate && control.isNoStore && control.mustRevalidate)
        let permits = parse("public=1, immutable=\"x\", must-understand=x")
        #expect(!permits.isPublic && !permits.isImmutable && !permits.mustUnderstand)
    }

    @Test func `an unclosed quoted string hides no directive and means stale`() {
        let control = parse("ext=\"a, no-store, max-age=60", "no-cache")
        #expect(control.isMalformed && control.isNoStore && control.isNoCache)
        let freshness = Freshness(of: ResponseHead(200), control, date: .zero, isShared: false)
        #expect(freshness.lifetime == .zero)
    }

    @Test func `every directive is read`() {
        let control = parse(
            "s-maxage=1, stale-while-revalidate=2, stale-if-error=3, public, immutable, proxy-revalidate, "
                + "must-understand, Unknown, must-revalidate")
        #expect(control.sharedMaxAge == .seconds(1) && control.staleWhileRevalidate == .seconds(2))
        #expect(control.staleIfError == .seconds(3) && control.isPublic && control.isImmutable)
        #expect(control.proxyRevalidate && control.mustUnderstand && control.mustRevalidate)
        #expect(!control.isNoStore && !control.isNoCache && !control.isPrivate && control.maxAge == nil)
    }

    @Test func `no text makes the parser trap or miss a no-store beside it`() {
        var random = SeededRandom.announced("cache-control fuzz")
        let parts = ["max-age", "=", "\"", "\\", ",", " ", "\t", "60", "no-cache", "é", "\u{0}", "private", "''", "=="]
        for _ in RandomRounds("cache-control fuzz", 2000...20_000) {
            let text = (0..<random.number(in: 0..<12)).map { _ in parts[random.number(in: 0..<parts.count)] }.joined()
            let control = parse(text, "no-store")
            #expect(control.isNoStore, "\(text)")
            if case .seconds(let value) = control.maxAge { #expect((0...DeltaSeconds.max).contains(value)) }
        }
    }

    @Test func `a field of 64 KiB is read in linear time`() {
        let value = String(repeating: "a=\"\\\",\", ", count: 8000) + "max-age=60"
        #expect(parse(value).maxAge == .seconds(60))
    }
}

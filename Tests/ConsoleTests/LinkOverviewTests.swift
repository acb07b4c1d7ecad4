import Commands
import Console
import NetworkControl
import Testing

@Suite struct LinkOverviewTests {
    /// A link from its name, its level, and figures like `rate=5`.
    private func link(_ text: String) throws -> LinkReport {
        let words = text.split(separator: " ")
        var body = #"{"level":"\#(words[1])""#
        for word in words.dropFirst(2) {
            let (name, value) = (word.prefix { $0 != "=" }, word.drop { $0 != "=" }.dropFirst())
            switch name {
            case "direction": body += #","direction":"\#(value)""#
            case "waiting":
                body += #","circuitBreaker":{"state":"open","cause":"destination","since":0,"waiting":\#(value)}"#
            default: body += #","\#(name)":\#(value)"#
            }
        }
        return try #require(LinkReport(destination: words[0], body: try JSONValue(parsing: Array((body + "}").utf8))))
    }

    @Test(arguments: [
        ("a bad state goes first", ["d degraded", "p poor", "o offline", "g good", "b good waiting=0"], "b o p d g"),
        ("a bad state goes before traffic", ["g good rate=9000000", "d degraded"], "d g"),
        ("an offline link with an open circuit breaker", ["a offline", "b offline waiting=1"], "b a"),
        ("more waiting commands go first", ["a good waiting=2", "b good waiting=30", "c good waiting=3"], "b c a"),
        ("the busier goes first", ["a good", "b good rate=1000", "c good rate=9000"], "c b a"),
        ("an unknown level counts as good", ["a good", "b unknown rate=5", "c unknown"], "b a c"),
        ("a level of another version", ["a great", "b degraded", "c good"], "b a c"),
        ("goodput stands in for the rate", ["a good rate=5", "b good goodput=9000"], "b a"),
        ("rates of one power of two", ["b good rate=1030", "a good rate=2040"], "a b"),
        ("transfers that move nothing", ["a good", "b good inFlight=1", "c good highInFlight=2"], "c b a"),
        ("otherwise by name", ["c good", "*wifi good", "a good", "* good"], "* *wifi a c"),
        ("then by direction", ["a good direction=up", "a good direction=down", "b good"], "a.down a b"),
        ("figures that cannot be", ["a good rate=-5", "b good inFlight=-1", "c good rate=1"], "c a b"),
    ])
    func `links are ordered by what a person looks at first`(
        _ what: String, _ links: [String], _ expected: String
    ) throws {
        for limit in [nil, LinkOverview.maxShown] {
            for links in [links, links.reversed()] {
                let shown = LinkOverview(try links.map(link), limit: limit).shown
                let names = shown.map { $0.destination + ($0.direction == .up ? "" : ".\($0.direction.rawValue)") }
                #expect(names.joined(separator: " ") == expected, "\(what)")
            }
        }
    }

    @Test(arguments: [
        (["a good"], "good", ""),
        (["a good", "b good"], "all good", ""),
        (["a good waiting=1"], "with an open circuit breaker", "1 command waits"),
        (
            ["a good waiting=1000", "b offline waiting=20", "c offline", "d poor"],
            "2 with an open circuit breaker, 1 offline, 1 poor", "1,020 or more commands wait"
        ),
        (
            ["a good inFlight=2 highInFlight=1 rate=1200000", "b unknown", "c degraded goodput=5"],
            "1 degraded, 1 good, 1 unknown", "3 in flight, 1.2 MB/s"
        ),
        (["* good inFlight=9 rate=9000", "a good inFlight=2 rate=900"], "all good", "2 in flight, 900 B/s"),
        (
            ["a good rate=8900000000000000000", "b good rate=8900000000000000000", "c good rate=-3 inFlight=-9"],
            "all good", "9.2 EB/s"
        ),
    ])
    func `the sum counts levels, waiting commands, transfers and bytes`(
        _ links: [String], _ standings: String, _ traffic: String
    ) throws {
        let sum = LinkOverview(try links.map(link), limit: 0).rest
        #expect(sum.count == links.count)
        #expect(sum.standings == standings)
        #expect(sum.traffic == traffic)
    }

    /// Thirty links, of which the last ten are offline.
    private var thirty: [LinkReport] {
        get throws {
            try (0..<30).map { try link("http://host\($0 < 10 ? "0" : "")\($0):80 \($0 < 20 ? "good" : "offline")") }
        }
    }

    @Test func `twenty links are shown, and the others are summed in any order of arrival`() throws {
        var links = try thirty
        let expected = (Array(20..<30) + Array(0..<10)).map { "http://host\($0 < 10 ? "0" : "")\($0):80" }
        for _ in 0..<20 {
            // A step that 30 is not a multiple of comes to each link once.
            links = links.indices.map { links[$0 * 7 % links.count] }
            let overview = LinkOverview(links)
            #expect(overview.shown.map(\.destination) == expected)
            #expect(overview.rest.count(.good) == 10 && overview.rest.count == 10 && overview.count == 30)
        }
    }

    @Test func `the uplinks are always among the shown links`() throws {
        let uplinks = [try link("* good"), try link("*wifi good direction=down")]
        for links in [try thirty + uplinks, uplinks + (try thirty)] {
            let overview = LinkOverview(links)
            #expect(
                overview.shown.count == 20 && overview.shown.suffix(10).map(\.destination).prefix(2) == ["*", "*wifi"])
            #expect(overview.count == 32 && overview.rest.count(.good) == 12)
            let one = overview.limited(to: 1)
            #expect(one.shown.map(\.destination) == ["*", "*wifi"], "both, above the limit")
            #expect(one.rest.count(.offline) == 10 && one.count == 32)
            #expect(overview.limited(to: 0).shown.isEmpty && overview.limited(to: 0).rest.count == 32)
        }
    }

    @Test func `without a limit every link is shown in order`() throws {
        let overview = LinkOverview(try thirty, limit: nil)
        #expect(overview.shown.count == 30 && overview.rest.count == 0)
        #expect(
            overview.shown[9].destination == "http://host29:80" && overview.shown[10].destination == "http://host00:80")
        #expect(LinkRows.table(overview).count == 31)
    }

    @Test(arguments: [
        (20, ["a good"], "and 1 more link: good (--all shows it)"),
        (20, ["a good", "b good rate=7"], "and 2 more links: all good; 7 B/s (--all shows them)"),
    ])
    func `a line tells the sum of the links that are not shown`(
        _ shown: Int, _ others: [String], _ line: String
    ) throws {
        let links = try (0..<shown).map { try link("http://host\($0):80 poor") } + others.map(link)
        for lines in [
            LinkRows.table(LinkOverview(links)), LinkRows.blocks(LinkOverview(links), columns: 80),
            LinkRows.summaries(LinkOverview(links), columns: 80),
        ] {
            #expect(lines.last == line)
        }
        #expect(!LinkRows.table(LinkOverview(links.prefix(shown))).contains { $0.hasPrefix("and ") })
    }

    @Test func `the sum is folded in a terminal of 40 columns`() throws {
        var links = try (0..<20).map { try link("http://host\($0):80 offline") }
        for number in 0..<4980 { links.append(try link("http://host\(number).example:80 good rate=240")) }
        links[20] = try link("http://busy.example:80 good inFlight=3 rate=5000")
        let lines = LinkRows.summaries(LinkOverview(links), columns: 40)
        #expect(
            lines.suffix(2) == [
                "and 4,980 more links: all good; 3 in", "  flight, 1.2 MB/s (--all shows them)",
            ])
        #expect(lines.first == "http://host0:80                 offline")
    }

    @Test func `a narrow row keeps the name and the level`() throws {
        let busy = try link("https://media.example.com:443 good rate=1200000 inFlight=3 limit=8")
        #expect(
            [80, 60, 40].map { LinkRows.panel(busy, columns: $0)[0] } == [
                "https://media.example.com:443                   good       1.2 MB/s  3 of 8",
                "https://media.example.com:443            good       1.2 MB/s",
                "https://media.example.com:443   good",
            ])
    }

    @Test func `a summary shows the maximum rate that a person has set`() throws {
        let slow = try link("https://media.example.com:443 good maxRate=2500000")
        #expect(LinkRows.summaries(LinkOverview([slow]), columns: 80).last == "  at most 2.5 MB/s")
    }

    @Test func `a good link with an open circuit breaker shows only the reason of its destination`() throws {
        var refused = try link("http://a:80 good waiting=20")
        refused.reason = LinkReason(.unloaded, measured: 1000)
        refused.since = Timestamp(rfc3339: "2026-03-01T12:34:56Z")
        refused.circuitBreaker?.reason = "507 Insufficient Storage"
        #expect(
            LinkRows.panel(refused, columns: 80)[1]
                == "  circuit breaker open, 20 commands wait; 507 Insufficient Storage; open since …")
        refused.level = .poor
        #expect(LinkRows.panel(refused, columns: 200)[1].contains("room for more; since 2026-03-01T12:34:56.000Z"))
    }
}

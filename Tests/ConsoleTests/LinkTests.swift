import Commands
import Console
import NetworkControl
import Testing

@Suite struct LinkTests {
    private let whole = """
        {"direction":"up","level":"degraded","limit":4,"inFlight":3,"highInFlight":1,"goodput":1200000,"reference":12000000,\
        "rate":1100000.6,"srtt":52.4,"change":null,\
        "reason":{"rule":"goodput","measured":1200000,"threshold":6000000,"usual":12000000},\
        "remedy":{"rule":"goodput","threshold":7800000,"seconds":3},"since":"2026-03-01T12:34:56.000Z","nextProbe":null,"forced":false,"maxRate":2500000,\
        "at":"2026-03-01T12:35:00.000Z","history":[1000000,2000000,0,4000000],\
        "gates":{"userInteractive":null,"utility":{"link":"https://media.example.com:443","level":"degraded",\
        "verb":"throttle 25%","reason":{"rule":"goodput","measured":1200000},"since":null,"remedy":null}}}
        """

    private func link(_ text: String, of destination: String = "https://media.example.com:443") throws -> LinkReport? {
        LinkReport(destination: destination, body: try JSONValue(parsing: text.utf8))
    }

    private var degraded: LinkReport { get throws { try #require(try link(whole)) } }

    @Test func `a link is read from the body of its event`() throws {
        let link = try degraded
        #expect(link.level == .degraded && link.limit == 4 && link.inFlight == 3 && link.highInFlight == 1)
        #expect(link.goodput == 1_200_000 && link.rate == 1_100_001 && link.srtt == .milliseconds(52.4))
        #expect(link.since == Timestamp(rfc3339: "2026-03-01T12:34:56Z"))
        #expect(link.nextProbe == nil && link.maxRate == 2_500_000)
        #expect(link.history == [1e6, 2e6, 0, 4e6])
        #expect(link.reason == .goodput(measured: 1_200_000, threshold: 6_000_000, usual: 12_000_000))
        #expect(link.remedy == LinkRemedy(.goodput, threshold: 7_800_000, for: .seconds(3)))
        #expect(link.gates.keys.map(\.self) == [.utility] && link.gates[.utility]?.verb == .throttle(percent: 25))
    }

    @Test func `a link is read back from its JSON, and from times in milliseconds`() throws {
        let link = try degraded
        #expect(LinkReport(destination: link.destination, body: link.json) == link)
        let setting = try self.link(#"{"level":"poor","since":1772368496000}"#)
        #expect(setting?.since == Timestamp(rfc3339: "2026-03-01T12:34:56Z"))
        #expect(setting?.direction == .up && setting?.limit == nil)
    }

    @Test(arguments: [
        "{}", "[]", "7", "null", #"{"level":3}"#, #"{"state":"broken"}"#,
    ])
    func `a body without a level is none`(_ text: String) throws {
        #expect(try link(text) == nil)
    }

    @Test func `members of another kind are nil`() throws {
        let text = """
            {"level":"good","limit":"4","goodput":1e300,"srtt":"x","since":"yesterday","gates":[1],"history":[null,"a",-5,1e999],
            "forced":1,"reason":null,"direction":7}
            """
        let link = try #require(try link(text.replacing("1e999", with: "1e99")))
        #expect(link.limit == nil && link.goodput == nil && link.srtt == nil && link.since == nil)
        #expect(link.gates.isEmpty && !link.isForced && link.direction == .up)
        #expect(link.history == [0, 0, 0, 1e99])
        #expect(link.json["history"]?.elements?.count == 4)
    }

    @Test func `the JSON of a link has every key`() throws {
        let names = LinkReport(destination: "*", level: .unknown).json.members?.map(\.name)
        #expect(names == (try degraded.json.members?.map(\.name)))
        #expect(names?.count == 24)
    }

    private let refusing = """
        {"direction":"up","level":"good","gates":{},"circuitBreaker":{"state":"open","cause":"destination",\
        "reason":"PUT http://a:80/x was answered 507 Insufficient Storage","since":"2026-03-01T12:34:56.000Z",\
        "nextProbe":"2026-03-01T12:35:56.000Z","waiting":20}}
        """

    @Test func `an open circuit breaker is shown once, with its waiting commands and next probe`() throws {
        let link = try #require(try link(refusing, of: "http://a:80"))
        #expect(link.circuitBreaker?.waiting == 20 && link.circuitBreaker?.cause == .destination)
        #expect(LinkReport(destination: link.destination, body: link.json) == link)
        #expect(link.json["circuitBreaker"]?["nextProbe"]?.string == "2026-03-01T12:35:56.000Z")
        let why =
            "circuit breaker open, 20 commands wait; next probe at 12:35:56; PUT http://a:80/x was answered 507 "
            + "Insufficient Storage; open since 2026-03-01T12:34:56.000Z"
        let table = LinkRows.table(LinkOverview([link]))
        #expect(table[1].hasSuffix(why), "\(table[1])")
        #expect(LinkRows.panel(link, columns: 300).last?.hasPrefix("  \(why)") == true)
        #expect(LinkRows.panel(link, columns: 80).last?.contains("20 commands wait; next probe at 12:35:56") == true)
        #expect(LinkOverview([try degraded, link]).shown.first == link, "the worst is shown first")
        let probing = try #require(try self.link(refusing.replacing("open\",", with: "halfOpen\",")))
        #expect(LinkRows.table(LinkOverview([probing]))[1].contains("a probe is under way"))
    }

    @Test func `a refusal that has not opened the circuit breaker is shown`() throws {
        let refusal = "PUT http://a:80/x was answered 401 Unauthorized; it asks for Digest"
        let link = try #require(
            try link(#"{"direction":"up","level":"good","gates":{},"refusal":"\#(refusal)"}"#, of: "http://a:80"))
        #expect(LinkReport(destination: link.destination, body: link.json) == link)
        #expect(LinkRows.table(LinkOverview([link]))[1].contains("a command was refused: \(refusal)"))
    }

    @Test(arguments: [(0, "0 commands wait"), (1, "1 command waits"), (1000, "1000 or more commands wait")])
    func `says how many commands wait`(_ waiting: Int, _ text: String) throws {
        let link = try self.link(
            #"{"level":"good","circuitBreaker":{"state":"open","cause":"credential","since":1,"waiting":\#(waiting)}}"#)
        #expect(link?.circuitBreaker?.waitingText == text)
    }

    @Test func `blocks fit every terminal`() throws {
        var links = [try degraded, LinkReport(destination: "*", level: .good), try #require(try link(refusing))]
        links[1].direction = .down
        for columns in 1...120 {
            let lines = LinkRows.blocks(LinkOverview(links), columns: columns)
            #expect(lines.allSatisfy { TerminalText.width($0) <= columns }, "\(columns)")
            let summaries = LinkRows.summaries(LinkOverview(links, limit: 1), columns: columns)
            #expect(summaries.allSatisfy { TerminalText.width($0) <= columns }, "\(columns)")
            #expect(
                links.flatMap { LinkRows.panel($0, columns: columns) }.allSatisfy { TerminalText.width($0) <= columns })
        }
    }

    @Test func `a terminal of 50 columns shows everything`() throws {
        let lines = LinkRows.blocks(LinkOverview([try degraded]), columns: 50)
        #expect(
            lines == [
                "https://media.example.com:443             degraded",
                "  1.2 MB/s of 12 MB/s  3+1 of 4 running",
                "  srtt 52 ms  at most 2.5 MB/s",
                "                                              ▂▄▁█",
                "  goodput 9.6 Mbit/s is below 48.0 Mbit/s, where",
                "  96.0 Mbit/s was usual; lifted by 62.4 Mbit/s for",
                "  3.0 s; since 2026-03-01T12:34:56.000Z",
            ])
    }

    @Test func `a pipe gets one line for each link`() throws {
        var held = LinkReport(destination: "http://b:80", level: .offline)
        held.isForced = true
        let lines = LinkRows.table(LinkOverview([try degraded, held]))
        #expect(lines.count == 3)
        #expect(lines[2].contains("degraded") && lines[2].contains("lifted by 62.4 Mbit/s for 3.0 s"))
        #expect(lines[1].hasPrefix("http://b:80") && lines[1].hasSuffix("held offline by a person"))
        // The coordinator says it too: once is enough.
        held.reason = LinkReason(.override)
        #expect(
            LinkRows.table(LinkOverview([held]))[1].split(separator: "by a person", omittingEmptySubsequences: false)
                .count == 2)
    }

    @Test func `readings take whole links, and bandwidth in between`() throws {
        var board = LinkCollector()
        func body(_ text: String) throws -> JSONValue { try JSONValue(parsing: text.utf8) }
        board.take(kind: "link", destination: "http://a:80", body: try body(whole))
        board.take(kind: "link", destination: "http://b:80", body: try body(#"{"level":"offline"}"#))
        for worker in 0..<2 {
            let moved = #"{"direction":"up","bytes":9,"goodput":500,"inFlight":2,"worker":\#(worker)}"#
            board.take(kind: "bandwidth", destination: "http://c:80", body: try body(moved))
        }
        board.take(kind: "worker", destination: "3", body: try body("{}"))
        board.take(kind: "link", destination: "http://d:80", body: try body(#"{"level":7}"#))
        let readings = shown(board)
        #expect(readings.map(\.destination) == ["http://b:80", "http://a:80", "http://c:80"])
        #expect(readings[2].rate == 1000 && readings[2].inFlight == 4)
        // An event after the snapshot has no history; it goes on.
        board.second()
        board.take(kind: "link", destination: "http://a:80", body: try body(#"{"level":"good","rate":7}"#))
        board.second()
        let a = try #require(shown(board).first { $0.destination == "http://a:80" })
        #expect(a.level == .good && a.history == [1e6, 2e6, 0, 4e6, 1_100_001, 7])
        for _ in 0..<100 { board.second() }
        #expect(shown(board).allSatisfy { $0.history.count <= LinkReport.historyLength })
    }

    @Test func `a history has the goodput of its workers, and the link's rate in seconds without reports`() throws {
        var board = LinkCollector()
        func body(_ text: String) throws -> JSONValue { try JSONValue(parsing: text.utf8) }
        board.take(kind: "link", destination: "http://a:80", body: try body(#"{"level":"good","rate":3}"#))
        for _ in 0..<2 { board.second() }
        for worker in 0..<2 {
            board.take(
                kind: "bandwidth", destination: "http://a:80", body: try body(#"{"goodput":50,"worker":\#(worker)}"#))
        }
        board.second()
        board.second()
        board.take(kind: "link", destination: "http://a:80", body: try body(#"{"level":"good","rate":9}"#))
        board.second()
        #expect(shown(board).map(\.history) == [[3, 3, 100, 3, 9]])
    }

    private func shown(_ board: LinkCollector) -> [LinkReport] {
        var overview = LinkOverview()
        board.visit { overview.add($0) }
        board.complete(&overview)
        return overview.shown
    }
}

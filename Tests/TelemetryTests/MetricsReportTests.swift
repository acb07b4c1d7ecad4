import Commands
import Host
import TestSupport
import Testing

@testable import Telemetry

struct MetricsReportTests {
    private static let families = [
        MetricFamily(
            "a_total", .counter, [MetricSample(1, [MetricLabel("t", "x\"\\ü")]), MetricSample(0.25)]),
        MetricFamily("b", .gauge, value: -2),
        MetricFamily(
            "c_seconds", .histogram,
            [
                MetricSample(HistogramValue(bounds: [0.5, 1], counts: [1, 0, 7], sum: 9.5), [MetricLabel("r", "y")])
            ]),
    ]

    private func read(_ bodies: [String]) throws -> [MetricsReport] {
        try bodies.map { try #require(MetricsReport(JSONValue(parsing: Array($0.utf8)))) }
    }

    @Test func `a report is read as it was written`() throws {
        let reports = try read(MetricsReport.encode(Self.families, round: 7))
        #expect(reports == [MetricsReport(round: 7, part: 0, parts: 1, families: Self.families)])
    }

    @Test func `a process without measurements sends an empty report`() throws {
        #expect(try read(MetricsReport.encode([], round: 7)).map(\.families) == [[]])
    }

    @Test func `a long report comes in parts below 16 KiB, with every sample once`() throws {
        let samples = (0..<1000).map { number in
            MetricSample(
                HistogramValue(bounds: [1, 2, 3, 4], counts: [number, 1, 2, 3, 4], sum: 1),
                [MetricLabel("type", "type-\(number)")])
        }
        let family = MetricFamily("e_seconds", .histogram, samples)
        let bodies = MetricsReport.encode([family] + Self.families)
        #expect(bodies.count >= 4 && bodies.allSatisfy { $0.utf8.count <= MetricsReport.maxBody })
        var reports = ProcessReports()
        for report in try read(bodies).reversed() { reports.take(report, of: "worker-1", now: .now) }
        var text = MetricsText()
        for (_, families) in reports.families(now: .now) { text.add(families) }
        var expected = MetricsText()
        expected.add([family] + Self.families)
        #expect(text.bytes == expected.bytes)
    }

    @Test func `a report has at most 64 parts`() throws {
        let samples = (0..<20_000).map {
            MetricSample(Double($0), [MetricLabel("n", String(repeating: "x", count: 90))])
        }
        #expect(MetricsReport.encode([MetricFamily("a", .gauge, samples)]).count == MetricsReport.maxParts)
    }

    @Test(arguments: [
        "{}", #"{"round":1,"part":1,"parts":1,"families":[]}"#, #"{"round":1,"part":0,"parts":65,"families":[]}"#,
        #"{"round":1,"part":0,"parts":1,"families":{}}"#, #"{"round":"1","part":0,"parts":1,"families":[]}"#,
    ])
    func `a body of another form is not a report`(body: String) throws {
        #expect(try MetricsReport(JSONValue(parsing: Array(body.utf8))) == nil)
    }

    @Test(arguments: [
        #"{"name":"a b","kind":"gauge","samples":[{"labels":{},"value":1}]}"#,
        #"{"name":"a\n# TYPE b gauge","kind":"gauge","samples":[{"labels":{},"value":1}]}"#,
        #"{"name":"a","kind":"summary","samples":[{"labels":{},"value":1}]}"#,
        #"{"name":"a","kind":"gauge","samples":[{"labels":{},"value":"1"}]}"#,
        #"{"name":"a","kind":"histogram","bounds":[2,1],"samples":[{"labels":{},"sum":1,"counts":[1,1,1]}]}"#,
        #"{"name":"a","kind":"histogram","bounds":[1],"samples":[{"labels":{},"sum":1,"counts":[1]}]}"#,
        #"{"name":"a","kind":"histogram","bounds":[1],"samples":[{"labels":{},"sum":1,"counts":[1,-1]}]}"#,
    ])
    func `a family or sample that is not valid is left out`(family: String) throws {
        let body = #"{"round":1,"part":0,"parts":1,"families":[\#(family)]}"#
        let report = try #require(try MetricsReport(JSONValue(parsing: Array(body.utf8))))
        #expect(report.families.flatMap(\.samples).isEmpty)
    }

    @Test func `any bytes in a report are survived`() throws {
        var random = SeededRandom.announced("MetricsReportTests")
        let body = Array(MetricsReport.encode(Self.families, round: 7)[0].utf8)
        for _ in RandomRounds("MetricsReportTests", 500...2000) {
            var bytes = body
            for _ in 0..<3 {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0x20...0x7E, using: &random)
            }
            guard let value = try? JSONValue(parsing: bytes), let report = MetricsReport(value) else { continue }
            var text = MetricsText()
            text.add(report.families)
            #expect(text.bytes.last ?? 0x0A == 0x0A)
        }
    }
}

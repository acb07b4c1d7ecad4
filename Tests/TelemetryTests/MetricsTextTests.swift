import Testing

@testable import Telemetry

struct MetricsTextTests {
    private func text(_ families: MetricFamily..., label: MetricLabel? = nil) -> String {
        var text = MetricsText()
        text.add(families, label: label)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    @Test func `each family has its help and type once, and the last line ends`() {
        let family = MetricFamily(
            "sluice_in_doubt", .gauge, [MetricSample(1.5), MetricSample(2, [MetricLabel("qos", "default")])])
        #expect(
            text(family, family) == """
                # HELP sluice_in_doubt Commands that a person has to resolve.
                # TYPE sluice_in_doubt gauge
                sluice_in_doubt 1.5
                sluice_in_doubt{qos="default"} 2

                """)
    }

    @Test func `buckets of a histogram count all observations up to their bound`() {
        let value = HistogramValue(bounds: [0.005, 1], counts: [2, 0, 1], sum: 9.25)
        let lines = text(MetricFamily("a", .histogram, [MetricSample(value, [MetricLabel("r", "x")])]))
            .split(separator: "\n").dropFirst(2)
        #expect(
            Array(lines) == [
                #"a_bucket{r="x",le="0.005"} 2"#, #"a_bucket{r="x",le="1"} 2"#, #"a_bucket{r="x",le="+Inf"} 3"#,
                #"a_sum{r="x"} 9.25"#, #"a_count{r="x"} 3"#,
            ])
    }

    @Test(arguments: [
        (#"C:\x"#, #"C:\\x"#), ("say \"hi\"", #"say \"hi\""#), ("ü", "ü"), ("a\u{1}b", "a b"),
    ])
    func `values of labels are escaped`(value: String, escaped: String) {
        #expect(
            text(MetricFamily("a", .gauge, [MetricSample(1, [MetricLabel("l", value)])])).contains("{l=\"\(escaped)\"}")
        )
    }

    @Test(arguments: [
        (0, "0"), (-3, "-3"), (0.1, "0.1"), (1e300, "1e+300"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
    ])
    func `numbers are written as Prometheus reads them`(number: Double, expected: String) {
        #expect(text(MetricFamily("a", .gauge, value: number)).hasSuffix("\na \(expected)\n"))
    }

    @Test func `sources share a family, and a source of another kind is left out`() {
        var text = MetricsText()
        text.add([MetricFamily("a_total", .counter, value: 1)], label: MetricLabel("process", "door"))
        text.add([MetricFamily("a_total", .counter, value: 2)], label: MetricLabel("process", "worker-1"))
        text.add([MetricFamily("a_total", .gauge, value: 3)], label: MetricLabel("process", "worker-2"))
        text.add([MetricFamily("a_total", .counter, value: 4)], label: MetricLabel("process", "door"))
        let lines = String(decoding: text.bytes, as: UTF8.self).split(separator: "\n").dropFirst()
        #expect(
            Array(lines) == [
                "# TYPE a_total counter", #"a_total{process="door"} 1"#, #"a_total{process="worker-1"} 2"#,
            ])
    }

    @Test func `a family with the name of a series of a histogram is left out`() {
        var text = MetricsText()
        let value = HistogramValue(bounds: [1], counts: [1, 0], sum: 0.5)
        text.add([
            MetricFamily("a_count", .counter, value: 7), MetricFamily("a", .histogram, [MetricSample(value)]),
            MetricFamily("a_counts", .counter, value: 8),
        ])
        let lines = String(decoding: text.bytes, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(
            lines == [#"a_bucket{le="1"} 1"#, #"a_bucket{le="+Inf"} 1"#, "a_sum 0.5", "a_count 1", "a_counts 8"])
    }

    @Test func `a family without samples is not written`() {
        #expect(text(MetricFamily("a", .gauge)) == "")
    }

    @Test func `every entry of the catalogue is a sentence, and its name is valid`() {
        for name in MetricCatalog.names {
            #expect(MetricName.isValid(name), "\(name)")
            #expect(MetricCatalog.help(name).hasSuffix("."), "\(name)")
            let bounds = MetricCatalog.bounds(name)
            #expect(bounds == bounds.sorted() && Set(bounds).count == bounds.count)
        }
    }
}

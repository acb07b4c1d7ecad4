import Commands
import TestSupport
import Testing

/// The text of one `GET /metrics`.
struct MetricsScrape {
    let text: String
    private let lines: [(name: Substring, labels: [Substring], value: Double)]

    init(_ text: String) {
        self.text = text
        lines = text.split(separator: "\n").compactMap { line in
            guard !line.hasPrefix("#"), let space = line.lastIndex(of: " "),
                let value = Double(line[line.index(after: space)...])
            else { return nil }
            let series = line[..<space]
            guard let brace = series.firstIndex(of: "{") else { return (series, [], value) }
            let labels = series[series.index(after: brace)...].dropLast()
            return (series[..<brace], labels.split(separator: ","), value)
        }
    }

    /// The names of all series.
    var names: Set<String> { Set(lines.map { String($0.name) }) }

    /// The sum of the series of a name that have all these labels, such as `qos="default"`.
    func sum(_ name: String, _ labels: [String] = []) -> Double {
        lines.filter { line in line.name == name && labels.allSatisfy { line.labels.contains(Substring($0)) } }
            .reduce(0) { $0 + $1.value }
    }
}

extension DoorRig {
    func scrape() async throws -> MetricsScrape { MetricsScrape(try await curl("\(origin)/metrics").output) }

    /// Asks whether the door is ready.
    func ready(withToken: Bool = false) async throws -> (status: Int, json: JSONValue) {
        let arguments = ["-sS", "-w", "%{http_code}", "\(origin)/readyz"]
        let token = withToken ? ["-H", "Authorization: Bearer \(try token)"] : []
        let output = try await installation.run(program: "/usr/bin/curl", arguments + token).output
        let parts = output.split(separator: "\n")
        let status = try #require(parts.last.flatMap { Int($0) })
        return (status, try JSONValue(parsing: Array(try #require(parts.first).utf8)))
    }
}

package import Commands
package import Console
internal import Store

/// One result of the health check: what was checked, how it stands, and a sentence.
package struct Finding: Equatable {
    package enum State: String, Comparable, CaseIterable {
        case ok, note, warning, broken

        private var severity: Int {
            switch self {
            case .ok: 0
            case .note: 1
            case .warning: 2
            case .broken: 3
            }
        }

        package static func < (left: State, right: State) -> Bool { left.severity < right.severity }
    }

    package var check: String
    package var state: State
    package var sentence: String

    package init(_ check: String, _ state: State, _ sentence: String) {
        self.check = check
        self.state = state
        self.sentence = sentence
    }

    package var json: JSONValue {
        .object([
            .init("check", .string(check)), .init("state", .string(state.rawValue)),
            .init("message", .string(sentence)),
        ])
    }

    /// The configuration that a worker would start with.
    /// - Parameters:
    ///   - path: of `--config`; nil for the data directory's own.
    ///   - proxies: the proxies that requests go through; nil for none.
    package static func configuration(path: String?, proxies: String?) -> [Finding] {
        [
            Finding("configuration", .ok, "can be used" + (path.map { ": \($0)" } ?? "")),
            Finding(
                "proxy", proxies == nil ? .ok : .note,
                proxies.map { "requests go through \($0)" } ?? "requests go without a proxy"),
        ]
    }

    /// The programs that workers may run.
    /// - Parameter problems: those that would not start now, a sentence each.
    package static func programs(isEnabled: Bool, names: [String], problems: [String]) -> [Finding] {
        guard isEnabled else { return [Finding("programs", .ok, "off: workers run no programs")] }
        let list = names.isEmpty ? "none is listed" : names.joined(separator: ", ")
        return [Finding("programs", .note, "workers run programs: \(list)")]
            + problems.map { Finding("programs", .warning, $0) }
    }

    /// A process that makes no progress.
    package init(stalled process: StalledProcess) {
        self.init(process.name, .warning, "\(process.clause); \(process.remedy)")
    }

    /// A configuration that a worker could not start with.
    package static func configuration(problem: String) -> Finding { Finding("configuration", .warning, problem) }
}

extension Finding {
    init(_ finding: ServerFinding) {
        let state: State =
            switch finding.state {
            case .ok: .ok
            case .note: .note
            case .warning: .warning
            case .broken: .broken
            }
        self.init(finding.check, state, finding.sentence)
    }
}

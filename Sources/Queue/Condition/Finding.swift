package import Commands
package import Console
internal import Glibc
package import Host
package import Store

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

/// The versions of the libraries that this program uses.
package struct Libraries {
    package var sqlite: String
    package var zeromq: String
    package var swift: String

    package static var current: Libraries {
        Libraries(sqlite: sqliteVersion ?? "unknown", zeromq: zeromqVersion ?? "unknown", swift: swiftVersion)
    }

    /// Read at run time: the distribution may replace a shared library under the program.
    private static var sqliteVersion: String? {
        typealias Version = @convention(c) () -> UnsafePointer<CChar>?
        guard let symbol = dlsym(nil, "sqlite3_libversion") else { return nil }
        return unsafeBitCast(symbol, to: Version.self)().map { String(cString: $0) }
    }

    private static var zeromqVersion: String? {
        typealias Version =
            @convention(c) (
                UnsafeMutablePointer<CInt>, UnsafeMutablePointer<CInt>, UnsafeMutablePointer<CInt>
            ) -> Void
        guard let symbol = dlsym(nil, "zmq_version") else { return nil }
        var (major, minor, patch): (CInt, CInt, CInt) = (0, 0, 0)
        unsafeBitCast(symbol, to: Version.self)(&major, &minor, &patch)
        return "\(major).\(minor).\(patch)"
    }

    private static var swiftVersion: String {
        #if swift(>=6.4)
            "6.4 or later"
        #elseif swift(>=6.3)
            "6.3"
        #else
            "6.2"
        #endif
    }
}

extension ClockHold {
    /// Why and until when the wall clock is not trusted, for people.
    package func sentence(now: MonotonicTime) -> String {
        let duration = Self.duration.shortText
        return
            "\(why); until it has been steady for \(duration), in \((end - now).shortText), nothing is deleted or cancelled by "
            + "its age, and no unique key is freed"
    }

    private var why: String {
        switch cause {
        case .jump(let jump):
            // Rounded: what was measured of a step of 8 days may be a millisecond less.
            "the wall clock jumped \(jump < .zero ? "back" : "forward") by "
                + Duration.seconds(abs((jump / .seconds(1)).rounded())).shortText
        case .start(let wall, let newest) where wall < newest:
            "the wall clock showed \(wall) at the start, before the newest change in the store, of \(newest)"
        case .start(let wall, let newest):
            "the wall clock showed \(wall) at the start, more than a day after the newest change in the store, of \(newest)"
        }
    }

    /// `{"reason":"…","ends":"2026-03-29T01:05:00.000Z"}`
    package func reading(now: MonotonicTime, wall: Timestamp) -> JSONValue {
        .object([
            .init("reason", .string(why)), .init("ends", .string((wall + (end - now)).description)),
        ])
    }
}

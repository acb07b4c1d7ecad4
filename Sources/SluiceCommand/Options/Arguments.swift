public import ArgumentParser
public import Commands
internal import Console
internal import NetworkControl
internal import Operations

extension CommandID: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
    public static var defaultCompletionKind: CompletionKind { .default }
}

extension QualityOfService: ExpressibleByArgument {
    public init?(argument: String) { self.init(name: argument) }
    public static var allValueStrings: [String] { allCases.map(\.name) }
    // Otherwise help lists the names once more, each with an empty description.
    public static var allValueDescriptions: [String: String] { [:] }
    public static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
    public var defaultValueDescription: String { name }
}

extension CommandStatus: ExpressibleByArgument {
    public init?(argument: String) { self.init(name: argument) }
    public static var allValueStrings: [String] { allCases.map(\.name) }
    public static var allValueDescriptions: [String: String] { [:] }
    public static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
    public var defaultValueDescription: String { name }
}

/// `--destination`: an origin such as `https://host:443`, or any URL of it. A path in a `file:` URL means the file system that
/// holds it.
struct DestinationArgument: ExpressibleByArgument {
    let destination: Destination

    init?(argument: String) {
        guard let destination = Destination(url: argument) else { return nil }
        self.destination = destination
    }
}

/// `25s`, `500ms`, `2m`, `1h30m`, `7d`, or plain seconds.
struct DurationArgument: ExpressibleByArgument {
    let duration: Duration

    init(_ duration: Duration) { self.duration = duration }

    init?(argument: String) {
        guard let duration = Duration(text: argument) else { return nil }
        self.duration = duration
    }

    var defaultValueDescription: String { duration.shortText }
}

/// RFC 3339, or a duration from now.
struct TimeArgument: ExpressibleByArgument {
    let time: Timestamp

    init?(argument: String) {
        guard let time = Timestamp(text: argument, now: .now) else { return nil }
        self.time = time
    }
}

/// `2Mbit`, `250kB`, bytes per second, or `none`.
enum RateArgument: ExpressibleByArgument {
    case none
    case bytesPerSecond(Int64)

    init?(argument: String) {
        if argument == "none" {
            self = .none
        } else if let rate = RateText.bytesPerSecond(argument), rate >= DestinationLimits.minRate {
            self = .bytesPerSecond(rate)
        } else {
            return nil
        }
    }

    var bytesPerSecond: Int64? { if case .bytesPerSecond(let rate) = self { rate } else { nil } }
}

enum YesNo: String, ExpressibleByArgument, CaseIterable {
    case yes, no
}

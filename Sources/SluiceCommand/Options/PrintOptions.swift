internal import ArgumentParser
internal import Console
internal import Logging

/// `--json`, for everything that prints.
struct PrintOptions: ParsableArguments {
    @Flag(name: .long, help: "Print JSON, one object a line, with stable keys.")
    var json = false
}

/// How many links are shown.
struct LinkOptions: ParsableArguments {
    @Flag(name: .long, help: "Show every link, not only the twenty that matter most.")
    var all = false

    /// Of links shown; nil shows every link.
    var limit: Int? { all ? nil : LinkOverview.maxShown }
}

/// How a service logs, on standard error.
struct LogOptions: ParsableArguments {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    enum Level: String, ExpressibleByArgument, CaseIterable {
        case trace, debug, info, notice, warning, error, critical

        var level: Logger.Level {
            switch self {
            case .trace: .trace
            case .debug: .debug
            case .info: .info
            case .notice: .notice
            case .warning: .warning
            case .error: .error
            case .critical: .critical
            }
        }
    }

    @Option(name: .long, help: ArgumentHelp("The lowest level that is logged.", valueName: "level"))
    var logLevel: Level = .info

    @Option(
        name: .long,
        help: ArgumentHelp("The form of the log (default: text on a terminal, else JSON lines).", valueName: "format"))
    var logFormat: Format?

    /// Arguments that give a child process the same options.
    var arguments: [String] {
        ["--log-level", logLevel.rawValue] + (logFormat.map { ["--log-format", $0.rawValue] } ?? [])
    }

    func logger(_ label: String) -> Logger {
        let format = logFormat ?? (Diagnostics.isTerminal ? .text : .json)
        var logger = Logger(label: label) { StandardErrorLogHandler(label: $0, format: format) }
        logger.logLevel = logLevel.level
        return logger
    }
}

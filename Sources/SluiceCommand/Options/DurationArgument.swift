internal import ArgumentParser
internal import Commands
internal import Console

/// `25s`, `500ms`, `2m`, `1h30m`, `7d`, or plain seconds.
struct DurationArgument: ExpressibleByArgument {
    let duration: Duration

    init(_ duration: Duration) { self.duration = duration }

    init?(argument: String) {
        guard let duration = Duration.parse(argument) else {
            ArgumentForm.expect("a duration such as 500ms, 25s, 1h30m or 7d")
            return nil
        }
        self.duration = duration
    }

    var defaultValueDescription: String { duration.shortText }
}

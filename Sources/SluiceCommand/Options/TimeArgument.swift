internal import ArgumentParser
internal import Commands
internal import Console

/// RFC 3339, or a duration from now.
struct TimeArgument: ExpressibleByArgument {
    let time: Timestamp

    init?(argument: String) {
        guard let time = Timestamp(text: argument, now: .now) else { return nil }
        self.time = time
    }
}

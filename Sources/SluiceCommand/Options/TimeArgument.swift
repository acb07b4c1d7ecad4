internal import ArgumentParser
internal import Commands
internal import Console

/// RFC 3339, or the time that has passed since: `2h` is two hours ago.
struct PastTimeArgument: ExpressibleByArgument {
    let time: Timestamp

    init?(argument: String) {
        if let time = Timestamp(rfc3339: argument) {
            self.time = time
        } else if let duration = Duration.parse(argument) {
            time = Timestamp.now + (.zero - duration)
        } else {
            ArgumentForm.expect("a time such as 2026-03-01T12:34:56Z, or how long ago it was, such as 2h or 3d")
            return nil
        }
    }
}

/// RFC 3339, or a duration from now.
struct TimeArgument: ExpressibleByArgument {
    let time: Timestamp

    init?(argument: String) {
        guard let time = Timestamp(text: argument, now: .now) else {
            ArgumentForm.expect("a time such as 2026-03-01T12:34:56Z, or a duration from now such as +10m")
            return nil
        }
        self.time = time
    }
}

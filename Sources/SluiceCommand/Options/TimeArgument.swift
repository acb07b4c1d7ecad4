internal import ArgumentParser
internal import Commands
internal import Console

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

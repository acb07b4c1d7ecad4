package import Commands
internal import Console
package import Host
package import Store

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

internal import Commands
internal import Console

extension Timestamp {
    /// The time of day, with the date where it is not that of `now`. UTC; the script shows it in the zone of the reader.
    func html(now: Timestamp) -> HTML {
        let text = description
        let isToday = text.prefix(10) == now.description.prefix(10)
        let time = text.dropFirst(11).prefix(8)
        return tag(.time, .the(.datetime, text), .title("\(text.prefix(10)) \(text.dropFirst(11).prefix(12)) UTC")) {
            isToday ? "\(time)" : "\(text.dropFirst(5).prefix(5)) \(time.prefix(5))"
        }
    }

    /// As ``html(now:)``, with milliseconds.
    var exactHTML: HTML {
        let text = description
        return tag(
            .time, .the(.datetime, text), .flag(.exact),
            .title("\(text.prefix(10)) \(text.dropFirst(11).prefix(12)) UTC")
        ) { "\(text.dropFirst(11).prefix(12))" }
    }

    /// How long ago, in one unit.
    func ageHTML(now: Timestamp) -> HTML {
        let text = "\(description.prefix(19))Z"
        return tag(.time, .the(.datetime, text), .flag(.age)) {
            (now - self).roundText
        }
    }
}

internal import Commands

/// Draws links for people. Pure.
package enum LinkRows {
    /// For a terminal: a few lines for each link, none longer than `columns` cells.
    package static func blocks(_ links: [LinkReading], columns: Int) -> [String] {
        links.enumerated().flatMap { index, link in
            (index == 0 ? [] : [""]) + block(link, columns: max(columns, 1))
        }
    }

    /// For a pipe: a line for each link, however long.
    package static func table(_ links: [LinkReading]) -> [String] {
        var table = Table([
            ("LINK", .left), ("DIRECTION", .left), ("LEVEL", .left), ("LIMIT", .right), ("RUNNING", .right),
            ("HIGH", .right), ("GOODPUT", .right), ("OF", .right), ("SRTT", .right), ("SINCE", .left), ("WHY", .left),
        ])
        for link in links {
            table.add([
                link.destination, link.direction, link.level, count(link.limit), count(link.inFlight),
                count(link.highInFlight), speed(link.goodput ?? link.rate), speed(link.reference),
                link.srtt.map { "\(Figures.decimal($0, digits: 0)) ms" } ?? "-", link.since?.description ?? "-",
                parts(of: link).joined(separator: "; "),
            ])
        }
        return table.lines
    }

    /// For a screen with other things: `name  level  1.2 MB/s  3+1 of 4`, and below it why, where somebody is held back.
    package static func panel(_ link: LinkReading, columns: Int) -> [String] {
        let level = TerminalText.fit(link.level, width: 8)
        let speed = TerminalText.fit(speed(link.rate ?? link.goodput), width: 9, alignRight: true)
        let figures = "\(level)  \(speed)  \(TerminalText.fit(running(link) ?? "", width: 9))"
        let line = TerminalText.fit(title(link), width: max(columns - figures.count - 2, 8)) + "  " + figures
        let why = why(link)
        let isFree =
            !link.isForced && link.circuitBreaker == nil && ["good", "unknown"].contains(link.level)
            || why.isEmpty
        return ([line] + (isFree ? [] : ["  \(why)"])).map { TerminalText.cut($0, width: columns) }
    }

    // MARK: Parts

    private static func block(_ link: LinkReading, columns: Int) -> [String] {
        let room = max(columns - link.level.count - 2, 8)
        var lines = [TerminalText.cut("\(TerminalText.fit(title(link), width: room))  \(link.level)", width: columns)]
        var figures = [speed(link.goodput ?? link.rate) + (link.reference.map { " of \(speed($0))" } ?? "")]
        if let running = running(link) { figures.append("\(running) running") }
        if let srtt = link.srtt { figures.append("srtt \(Figures.decimal(srtt, digits: 0)) ms") }
        if let rate = link.maxRate { figures.append("at most \(speed(rate))") }
        lines += folded(figures, separator: "  ", columns: columns)
        if link.history.contains(where: { $0 > 0 }) {
            let width = min(columns - 2, LinkReading.historyLength)
            lines.append(TerminalText.cut("  " + Sparkline.text(link.history, width: width), width: columns))
        }
        let why = why(link)
        if !why.isEmpty {
            lines += folded(why.split(separator: " ").map(String.init), separator: " ", columns: columns)
        }
        return lines
    }

    private static func title(_ link: LinkReading) -> String {
        link.destination + (link.direction == "up" ? "" : " \(link.direction)")
    }

    /// `3 of 4`, with high quality `3+1 of 4`; nil where nobody knows.
    private static func running(_ link: LinkReading) -> String? {
        guard let running = link.inFlight else { return nil }
        let high = link.highInFlight.map { $0 > 0 ? "+\($0)" : "" } ?? ""
        return "\(running)\(high)" + (link.limit.map { " of \($0)" } ?? "")
    }

    /// The reason, what lifts it, and since when.
    private static func why(_ link: LinkReading) -> String {
        var parts = parts(of: link)
        if let since = link.since, !parts.isEmpty { parts.append("since \(since)") }
        return parts.joined(separator: "; ")
    }

    private static func parts(of link: LinkReading) -> [String] {
        var parts = link.circuitBreaker.map(parts) ?? []
        if let reason = link.reason, !reason.isEmpty {
            parts.append(reason)
        } else if link.isForced {
            parts.append("held offline by a person")
        }
        if let remedy = link.remedy { parts.append("lifted by \(remedy)") }
        if let probe = link.nextProbe { parts.append("next probe at \(time(probe))") }
        return parts
    }

    private static func parts(of circuitBreaker: CircuitBreakerReading) -> [String] {
        var parts = ["circuit breaker open, \(circuitBreaker.waitingText)"]
        if let probe = circuitBreaker.nextProbe { parts.append("next probe at \(time(probe))") }
        if circuitBreaker.state == "halfOpen" { parts.append("a probe is under way") }
        parts.append(circuitBreaker.reason)
        if let since = circuitBreaker.since { parts.append("open since \(since)") }
        return parts
    }

    private static func time(_ time: Timestamp) -> Substring { time.description.dropFirst(11).prefix(8) }

    private static func speed(_ rate: Int64?) -> String { rate.map { "\(Figures.bytes($0))/s" } ?? "-" }

    private static func count(_ count: Int64?) -> String { count.map { "\($0)" } ?? "-" }

    /// Parts, indented, in as many lines as they need.
    private static func folded(_ parts: [String], separator: String, columns: Int) -> [String] {
        var lines: [String] = []
        for part in parts {
            if let last = lines.last,
                TerminalText.width(last) + separator.count + TerminalText.width(part) <= columns
            {
                lines[lines.count - 1] = last + separator + part
            } else {
                lines.append("  " + part)
            }
        }
        return lines.map { TerminalText.cut($0, width: columns) }
    }
}

internal import Commands
package import NetworkControl

/// Draws links for people. Pure.
package enum LinkRows {
    /// For a terminal: a few lines for each link, none longer than `columns` cells.
    package static func blocks(_ links: LinkOverview, columns: Int) -> [String] {
        let columns = max(columns, 1)
        var lines: [String] = []
        for link in links.shown { lines += (lines.isEmpty ? [] : [""]) + block(link, columns: columns) }
        let rest = rest(links.rest, columns: columns)
        return lines + (rest.isEmpty || lines.isEmpty ? [] : [""]) + rest
    }

    /// For a terminal, below other output: a line for each link, then its limit and, where it is held back,
    /// the reason.
    package static func summaries(_ links: LinkOverview, columns: Int) -> [String] {
        let columns = max(columns, 1)
        let lines = links.shown.flatMap { link in
            let notes = [link.maxRate.map { "at most \(speed($0))" }, isFree(link) ? nil : why(link)].compactMap(\.self)
            return [row(link, columns: columns)]
                + folded(notes.joined(separator: "; "), indentation: "  ", columns: columns)
        }
        return lines + rest(links.rest, columns: columns)
    }

    /// For a pipe: a line for each link, however long.
    package static func table(_ links: LinkOverview) -> [String] {
        var table = Table([
            ("LINK", .left), ("DIRECTION", .left), ("LEVEL", .left), ("LIMIT", .right), ("RUNNING", .right),
            ("HIGH", .right), ("GOODPUT", .right), ("OF", .right), ("SRTT", .right), ("SINCE", .left), ("WHY", .left),
        ])
        for link in links.shown {
            table.add([
                link.destination, link.direction.rawValue, link.level.name, count(link.limit), count(link.inFlight),
                count(link.highInFlight), speed(link.goodput ?? link.rate), speed(link.reference),
                link.srtt.map(milliseconds) ?? "-", link.since?.description ?? "-",
                parts(of: link).joined(separator: "; "),
            ])
        }
        return table.lines + rest(links.rest, columns: .max)
    }

    /// For the live screen: `name  level  1.2 MB/s  3+1 of 4`, and below it the reason where commands are
    /// held back.
    package static func panel(_ link: LinkReport, columns: Int) -> [String] {
        let why = isFree(link) ? "" : why(link)
        return [row(link, columns: columns)] + (why.isEmpty ? [] : [TerminalText.cut("  \(why)", width: columns)])
    }

    /// The sum below panels: `and 4,980 more links: 12 offline, 4,968 good; 3 in flight, 1.2 MB/s`. One line
    /// with the parts that fit, or more lines for the levels alone.
    package static func panelRest(_ links: LinkOverview, columns: Int, maxLines: Int = 2) -> [String] {
        let sum = links.rest
        guard sum.count > 0 else { return [] }
        let isAlone = sum.count == links.count
        var parts = [(isAlone ? "" : "and ") + head(sum, more: !isAlone) + ": " + sum.standings]
        if !sum.traffic.isEmpty { parts.append(sum.traffic) }
        parts.append("see “sluice network\(links.count > LinkOverview.maxShown ? " --all" : "")”")
        while parts.count > 1, TerminalText.width(parts.joined(separator: "; ")) > columns { parts.removeLast() }
        let lines = folded(parts.joined(separator: "; "), indentation: "", columns: columns)
        guard lines.count > maxLines, maxLines > 0 else { return lines }
        let last = lines[maxLines - 1] + " " + lines[maxLines].dropFirst(2)
        return lines.prefix(maxLines - 1) + [TerminalText.cut(last, width: columns)]
    }

    // MARK: Parts

    private static func block(_ link: LinkReport, columns: Int) -> [String] {
        let room = max(columns - link.level.name.count - 2, 8)
        var lines = [
            TerminalText.cut("\(TerminalText.fit(title(link), width: room))  \(link.level.name)", width: columns)
        ]
        var figures = [speed(link.goodput ?? link.rate) + (link.reference.map { " of \(speed($0))" } ?? "")]
        if let running = running(link) { figures.append("\(running) running") }
        if let srtt = link.srtt { figures.append("srtt \(milliseconds(srtt))") }
        if let rate = link.maxRate { figures.append("at most \(speed(rate))") }
        lines += folded(figures, separator: "  ", columns: columns)
        if link.history.contains(where: { $0 > 0 }) {
            let width = min(columns - 2, LinkReport.historyLength)
            lines.append(TerminalText.cut("  " + Sparkline.text(link.history, width: width), width: columns))
        }
        let why = why(link)
        if !why.isEmpty { lines += folded(why, indentation: "  ", columns: columns) }
        return lines
    }

    /// `name  level  1.2 MB/s  3+1 of 4`. A narrow line keeps the name and the level.
    private static func row(_ link: LinkReport, columns: Int) -> String {
        var figures = TerminalText.fit(link.level.name, width: 8)
        if columns >= 50 {
            figures += "  " + TerminalText.fit(speed(link.rate ?? link.goodput), width: 9, alignRight: true)
        }
        if columns >= 70 { figures += "  " + TerminalText.fit(running(link) ?? "", width: 11) }
        let width = max(columns - TerminalText.width(figures) - 2, 8)
        var row = TerminalText.cut("\(TerminalText.fit(title(link), width: width))  \(figures)", width: columns)
        while row.last == " " { row.removeLast() }
        return row
    }

    /// `and 4,980 more links: 12 offline, 4,968 good; 3 in flight, 1.2 MB/s (--all shows them)`; no line for
    /// no link.
    private static func rest(_ sum: LinkSummary, columns: Int) -> [String] {
        guard sum.count > 0 else { return [] }
        let facts = [sum.standings, sum.traffic].filter { !$0.isEmpty }.joined(separator: "; ")
        let hint = "(--all shows \(sum.count == 1 ? "it" : "them"))"
        return folded("and \(head(sum, more: true)): \(facts) \(hint)", indentation: "", columns: columns)
    }

    /// `1 link`, `4,980 more links`
    private static func head(_ sum: LinkSummary, more: Bool) -> String {
        "\(Figures.grouped(Int64(sum.count)))\(more ? " more" : "") \(sum.count == 1 ? "link" : "links")"
    }

    /// The link holds no command back.
    private static func isFree(_ link: LinkReport) -> Bool {
        !link.isForced && link.circuitBreaker == nil && link.refusal == nil && link.level <= .good
    }

    /// The destination refuses commands while the link is good, so the link's own reason explains nothing.
    private static func isRefusedAlone(_ link: LinkReport) -> Bool {
        !link.isForced && link.circuitBreaker != nil && link.level <= .good
    }

    private static func title(_ link: LinkReport) -> String {
        link.destination + (link.direction == .up ? "" : " \(link.direction.rawValue)")
    }

    /// `3 of 4`, with high quality of service `3+1 of 4`; nil where it is unknown.
    private static func running(_ link: LinkReport) -> String? {
        guard let running = link.inFlight else { return nil }
        let high = link.highInFlight.map { $0 > 0 ? "+\($0)" : "" } ?? ""
        return "\(running)\(high)" + (link.limit.map { " of \($0)" } ?? "")
    }

    /// The reason, its remedy, and since when.
    private static func why(_ link: LinkReport) -> String {
        var parts = parts(of: link)
        if let since = link.since, !parts.isEmpty, !isRefusedAlone(link) { parts.append("since \(since)") }
        return parts.joined(separator: "; ")
    }

    private static func parts(of link: LinkReport) -> [String] {
        var parts = link.circuitBreaker.map(parts) ?? []
        if isRefusedAlone(link) { return parts }
        if let refusal = link.refusal { parts.append("a command was refused: \(refusal)") }
        if let reason = link.reason {
            parts.append(LinkText.clause(reason, link.change))
        } else if link.isForced {
            parts.append("held offline by a person")
        }
        if let remedy = link.remedy {
            parts.append("lifted by \(LinkText.clause(remedy, of: link.destination))")
        }
        if let probe = link.nextProbe { parts.append("next probe at \(time(probe))") }
        return parts
    }

    private static func parts(of circuitBreaker: CircuitBreakerState<Timestamp>) -> [String] {
        var parts = ["circuit breaker open, \(circuitBreaker.waitingText)"]
        if let probe = circuitBreaker.nextProbe { parts.append("next probe at \(time(probe))") }
        if circuitBreaker.isProbing { parts.append("a probe is under way") }
        parts.append(circuitBreaker.reason)
        parts.append("open since \(circuitBreaker.since)")
        return parts
    }

    private static func time(_ time: Timestamp) -> Substring { time.description.dropFirst(11).prefix(8) }

    private static func speed(_ rate: Int64?) -> String { rate.map { Figures.rate($0) } ?? "-" }

    private static func milliseconds(_ time: Duration) -> String {
        "\(Figures.decimal(time.seconds * 1000, digits: 0)) ms"
    }

    private static func count(_ count: Int64?) -> String { count.map { "\($0)" } ?? "-" }

    /// Words in lines of at most `columns` cells: the first after `indentation`, the others after two spaces.
    private static func folded(_ text: String, indentation: String, columns: Int) -> [String] {
        folded(
            text.split(separator: " ").map(String.init), separator: " ", indentation: indentation, columns: columns)
    }

    private static func folded(
        _ parts: [String], separator: String, indentation: String = "  ", columns: Int
    ) -> [String] {
        var lines: [String] = []
        for part in parts {
            if let last = lines.last,
                TerminalText.width(last) + separator.count + TerminalText.width(part) <= columns
            {
                lines[lines.count - 1] = last + separator + part
            } else {
                lines.append((lines.isEmpty ? indentation : "  ") + part)
            }
        }
        return lines.map { TerminalText.cut($0, width: columns) }
    }
}

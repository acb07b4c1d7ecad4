extension AllowedHours {
    /// Reads `22:00-06:00`: local time, the end not included, over midnight if the end is the smaller. It is
    /// not validated here that the two differ.
    package init?(text: some StringProtocol) {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Self.minute($0) }
        guard ends.count == 2, let from = ends[0], let to = ends[1], from < 1440 else { return nil }
        self.init(from: from, to: to == 0 ? 1440 : to)
    }

    /// `22:00 to 06:00`
    package var text: String { "\(Self.text(from)) to \(Self.text(to))" }

    /// `06:05`, of a minute of the day.
    package static func text(_ minute: Int) -> String {
        [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }

    private static func minute(_ text: some StringProtocol) -> Int? {
        let digits = text.utf8.map { Int($0) - 0x30 }
        guard digits.count == 5, digits[2] == 0x3A - 0x30, [0, 1, 3, 4].allSatisfy({ (0...9).contains(digits[$0]) })
        else { return nil }
        let (hour, minute) = (digits[0] * 10 + digits[1], digits[3] * 10 + digits[4])
        return minute < 60 && hour * 60 + minute <= 1440 ? hour * 60 + minute : nil
    }
}

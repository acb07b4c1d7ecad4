extension Timestamp {
    /// Reads `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`.
    package init?(rfc3339 text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 40 else { return nil }
        func number(_ start: Int, _ count: Int) -> Int64? {
            var value: Int64 = 0
            for byte in bytes[start..<start + count] {
                guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
                value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            }
            return value
        }
        func isByte(_ position: Int, _ characters: StaticString) -> Bool {
            characters.withUTF8Buffer { $0.contains(bytes[position]) }
        }
        guard isByte(4, "-"), isByte(7, "-"), isByte(10, "Tt "), isByte(13, ":"), isByte(16, ":"),
            let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
            let minute = number(14, 2), let second = number(17, 2), (1...12).contains(month),
            (1...CivilDate.daysInMonth(month, of: year)).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        var position = 19
        var milliseconds: Int64 = 0
        if isByte(position, ".") {
            position += 1
            var scale: Int64 = 100
            let start = position
            while position < bytes.count, let digit = number(position, 1) {
                milliseconds += digit * scale
                scale /= 10
                position += 1
            }
            guard position > start else { return nil }
        }
        guard position < bytes.count else { return nil }
        var offset: Int64 = 0
        if isByte(position, "Zz") {
            guard position + 1 == bytes.count else { return nil }
        } else {
            guard isByte(position, "+-"), bytes.count == position + 6, isByte(position + 3, ":"),
                let hours = number(position + 1, 2), let minutes = number(position + 4, 2), hours < 24, minutes < 60
            else { return nil }
            offset = (isByte(position, "-") ? -1 : 1) * (hours * 60 + minutes)
        }
        let seconds =
            CivilDate.days(year: year, month: month, day: day) * 86_400 + hour * 3600 + (minute - offset) * 60 + second
        self.init(milliseconds: seconds * 1000 + milliseconds)
    }
}

import Commands
import Console
import Testing

@Suite struct CommandRowsTests {
    private static func row(
        _ number: Int, file: String? = nil, reason: String? = nil, status: CommandStatus = .error
    ) -> CommandRows.Row {
        let payload = file.map { Array(#"{"file": "\#($0)"}"#.utf8) } ?? []
        return CommandRows.Row(
            id: CommandID(high: 0x0199_8B5E_7C1A_7D2E, low: 0x8F00_3B6A_1C2D_0000 + UInt64(number)),
            age: .seconds(7300), type: "upload", subject: CommandSubject(payload: payload),
            destination: Destination(scheme: "https", host: "host", port: 443), status: status, reason: reason)
    }

    private static let rows = [
        row(
            1, file: "/srv/in/a very long directory name/clip-0001.mov",
            reason: "503 Service Unavailable from https://host"),
        row(2, file: "/srv/in/日本語.mov", reason: "no route"), row(3, status: .success),
    ]

    @Test func `a table fits every width of a terminal`() {
        for columns in 1...200 {
            let lines = CommandRows.lines(Self.rows, columns: columns, withHeader: true)
            #expect(lines.allSatisfy { TerminalText.width($0) <= columns }, "\(columns)")
        }
    }

    @Test func `a wide table has the reason in the line, a narrow one below it`() {
        let wide = CommandRows.lines(Self.rows, columns: 120, withHeader: true)
        #expect(wide.count == 4)
        #expect(wide[0].hasPrefix("ID        AGE  FILE OR URL"))
        #expect(
            wide[1].hasPrefix("1c2d0001   2h  ") && wide[1].contains("clip-0001.mov  error") && wide[1].contains("503"))
        let narrow = CommandRows.lines(Self.rows, columns: 50, withHeader: false)
        #expect(narrow.count == 5)
        #expect(narrow[0].contains("clip-0001.mov  error") && narrow[1].hasPrefix("  503 Service"))
        #expect(narrow[4].contains("upload https://host"))
    }

    @Test func `ids are as long as they have to be to differ`() {
        let low: [UInt64] = [0x8F00_3B6A_1C2D_0001, 0x8F00_3B7A_1C2D_0001]
        let rows = low.map { low in
            CommandRows.Row(
                id: CommandID(high: 0x0199_8B5E_7C1A_7D2E, low: low), age: .zero, type: "noop", subject: nil,
                destination: .none, status: .new, reason: nil)
        }
        let lines = CommandRows.lines(rows, columns: 80, withHeader: false)
        #expect(lines[0].hasPrefix("6a1c2d0001 ") && lines[1].hasPrefix("7a1c2d0001 "))
    }
}

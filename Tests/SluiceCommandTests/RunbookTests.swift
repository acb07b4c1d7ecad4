import ArgumentParser
import Foundation
import Testing

@testable import SluiceCommand

/// The commands that the alerts name: a person types them at night.
struct RunbookTests {
    private static let alerts = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "deploy/monitoring/sluice-alerts.yaml")

    @Test func `each command of a runbook is accepted as it is written`() throws {
        let text = try String(contentsOf: Self.alerts, encoding: .utf8)
        let commands = text.matches(of: /“sluice ([^”]*)”/).map { String($0.1) }
        #expect(commands.count > 10)
        for command in commands {
            let words = command.split(whereSeparator: \.isWhitespace).map(String.init)
            let arguments = words.map { $0 == "ID" ? "01998b5e-7c1a-7d2e-9f00-3b6a1c2d4e5f" : $0 }
            #expect(throws: Never.self, "sluice \(command)") {
                do {
                    _ = try SluiceTool.parseAsRoot(arguments)
                } catch  where SluiceTool.exitCode(for: error).rawValue == 0 {
                    // “--help” is an error in name only.
                }
            }
        }
    }
}

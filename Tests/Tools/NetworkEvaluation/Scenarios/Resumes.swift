import Commands
import Foundation
import Host
import Sluice
import TestSupport

extension Scenario {
    /// Every process is killed at half of an upload, and another process resumes it.
    static let resumes = [resume("tus", by: .tus), resume("content-range", by: .contentRange), resumedCopy]

    private static let size = 20_000_000

    private static func resume(_ name: String, by transport: Stage.Transport) -> Scenario {
        Scenario(
            name: "resume-\(name)", title: "cut at 50 % and resumed by another process (\(name)), 20 Mbit/s, 50 ms",
            uplink: .megabits(20), targets: [Target("beyond the size (KiB)", .atMost(256))], arms: [.ours, .fixed8],
            policy: [
                "destinations": "[bed]", "destination.bed.origin": "\"http://10.77.1.1:8080\"",
                "destination.bed.resume": "contentRange",
            ]
        ) { stage in
            try await stage.startSluice()
            stage.start()
            let id = try await stage.submit(of: size, .utility, kind: "low", by: transport)[0]
            try await until("half of the upload") { try await stage.traffic().bytes >= Int64(size / 2) }
            try await stage.killSluice()
            stage.mark("killed")
            try await stage.startSluice()
            _ = try await stage.time(of: id)
            let traffic = try await stage.traffic()
            stage.record.set("beyond the size (KiB)", Double(Int(traffic.bytes) - size) / 1024)
            stage.note(traffic, kinds: ["low"])
        }
    }

    /// A copy has no link. The length that the temporary file loses is the number of bytes written twice.
    private static let resumedCopy = Scenario(
        name: "resume-file", title: "a copy of 4 GB to a `file:` URL, cut at 50 % and resumed by another process",
        uplink: .megabits(20), targets: [Target("beyond the size (KiB)", .atMost(256))], arms: [.ours, .fixed8],
        neighbours: 0
    ) { stage in
        let size: Int64 = 4_000_000_000
        let directory = "\(stage.directory.path)/copies"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let part = {
            let names = try FileManager.default.contentsOfDirectory(atPath: directory)
            guard let name = names.first else { return (path: "", bytes: Int64(0)) }
            let attributes = try? FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")
            return (name, (attributes?[.size] as? Int64) ?? 0)
        }
        try await stage.startSluice()
        stage.start()
        let id = try await stage.submit(copyOf: Int(size), .utility, to: "\(directory)/copy")
        try await until("half of the copy", within: .seconds(120)) { try part().bytes >= size / 2 }
        try await stage.killSluice()
        let cut = try part()
        stage.mark("killed")
        try await stage.startSluice()
        // The file under the name of the next execution has its old length, or was truncated.
        let resumed = try await awaited("the next execution") {
            let now = try part()
            return now.path == cut.path ? nil : now.bytes
        }
        _ = try await stage.time(of: id)
        stage.record.set("cut at (%)", Double(cut.bytes) / Double(size) * 100)
        stage.record.set("beyond the size (KiB)", Double(max(0, cut.bytes - resumed)) / 1024)
    }
}

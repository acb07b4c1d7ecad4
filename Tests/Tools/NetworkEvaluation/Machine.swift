import Commands
import Foundation

/// The machine on which the runs are made, and its use of processor time.
enum Machine {
    /// The members of a record that describe the machine.
    static let facts: [JSONValue.Member] = {
        var name = utsname()
        uname(&name)
        let kernel = withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let processor =
            text("/proc/cpuinfo").split(separator: "\n").first { $0.hasPrefix("model name") }?
            .split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
        return [
            .init("kernel", .string(kernel)),
            .init("machine", .string("\(processor), \(ProcessInfo.processInfo.activeProcessorCount) cores")),
        ]
    }()

    /// Clock ticks of all processors since boot, from `/proc/stat` (proc_stat(5): user nice system idle iowait irq softirq steal).
    struct Ticks {
        var stolen = 0.0
        var idle = 0.0
        var all = 0.0

        static var now: Ticks {
            let ticks =
                text("/proc/stat").split(separator: "\n").first?.split(separator: " ").dropFirst().prefix(8)
                .compactMap { Double($0) } ?? []
            return ticks.count == 8
                ? Ticks(stolen: ticks[7], idle: ticks[3] + ticks[4], all: ticks.reduce(0, +)) : Ticks()
        }

        /// The shares of the time since an earlier reading, from 0 to 1.
        func since(_ before: Ticks) -> (steal: Double, busy: Double) {
            let all = max(1, all - before.all)
            return ((stolen - before.stolen) / all, 1 - (idle - before.idle) / all)
        }
    }

    /// The processor time that a process has used, in seconds.
    static func processorTime(of process: Int32) -> Double? {
        let fields = text("/proc/\(process)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// The peak memory of a process in MB of 10⁶ bytes (proc_pid_status(5): VmHWM).
    static func peakMemory(of process: Int32) -> Double? {
        let line = text("/proc/\(process)/status").split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        guard let words = line?.split(whereSeparator: \.isWhitespace), words.count > 1 else { return nil }
        return Double(words[1]).map { $0 * 1024 / 1e6 }
    }

    private static func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
}

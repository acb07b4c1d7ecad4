internal import CLinux
internal import Foundation
internal import Synchronization

/// A terminal whose screen a test reads and into which it types; see ``ChildProcess``.
package final class Pseudoterminal: Sendable {
    /// The path of the terminal, which the process opens.
    package let path: String
    private let master: CInt
    private let shown = Mutex<[UInt8]>([])

    package init(columns: Int = 80, rows: Int = 24) throws {
        var ends: (master: CInt, slave: CInt) = (-1, -1)
        guard openpty(&ends.master, &ends.slave, nil, nil, nil) == 0, let name = ttyname(ends.slave) else {
            throw Missed("no pseudoterminal: \(String(cString: strerror(errno)))")
        }
        master = ends.master
        // The children of other tests must not inherit it.
        for end in [ends.master, ends.slave] { _ = clinux_fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends.slave) }
        path = String(cString: name)
        try resize(columns: columns, rows: rows)
    }

    deinit { close(master) }

    /// Changes the size. The foreground process gets SIGWINCH.
    package func resize(columns: Int, rows: Int) throws {
        let stty = try Process.run(
            URL(fileURLWithPath: "/usr/bin/stty"), arguments: ["-F", path, "cols", "\(columns)", "rows", "\(rows)"])
        stty.waitUntilExit()
        guard stty.terminationStatus == 0 else { throw Missed("stty cannot set the size of \(path)") }
    }

    /// Types text; `\u{3}` is Ctrl-C.
    package func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(master, bytes, bytes.count)
    }

    /// The output on the terminal so far.
    package var output: String {
        shown.withLock { shown in
            var chunk = [UInt8](repeating: 0, count: 65_536)
            var ready = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
            while poll(&ready, 1, 0) == 1 {
                let count = read(master, &chunk, chunk.count)
                // EIO: no process has the terminal open.
                guard count > 0 else { break }
                shown += chunk[..<count]
            }
            return String(decoding: shown, as: UTF8.self)
        }
    }

    /// The lines of the last complete screen of a program that draws each screen from the upper left corner.
    package var screen: [String] {
        let frames = output.components(separatedBy: "\u{1B}[H").dropFirst()
        guard let last = frames.last(where: { $0.contains("\u{1B}[J") }) else { return [] }
        let text = last.components(separatedBy: "\u{1B}[J")[0]
        // The terminal adds a carriage return before each line feed.
        return text.replacingOccurrences(of: "\r", with: "").components(separatedBy: "\n").map {
            $0.replacingOccurrences(of: "\u{1B}\\[[0-9;?]*[A-Za-z]", with: "", options: .regularExpression)
        }
    }
}

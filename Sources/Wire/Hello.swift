package import Commands

/// A worker registers: at once, again after 10 ms, then after twice as long each time, up to 1 s, until the
/// coordinator's control state names it.
package struct Hello: Sendable, Equatable {
    package var pid: Int32
    package var startTime: Int64
    package var bootID: String
    package var concurrency: Int
    /// The time that a drain gives to executions of high and middle quality.
    package var grace = Duration.zero
    package var types: [String]
    package var executing: [CommandClaim]

    package init(
        pid: Int32, startTime: Int64, bootID: String, concurrency: Int, types: [String], executing: [CommandClaim]
    ) {
        self.pid = pid
        self.startTime = startTime
        self.bootID = bootID
        self.concurrency = concurrency
        self.types = types
        self.executing = executing
    }

    func write(to writer: inout ByteWriter) {
        writer.uint32(Int(pid))
        writer.append(startTime)
        writer.text8(bootID)
        writer.uint16(concurrency)
        writer.uint32(Int(clamping: grace.milliseconds))
        writer.append(UInt8(clamping: types.count))
        for type in types.prefix(255) { writer.text8(type) }
        let held = executing.prefix(0xFFFF)
        writer.uint16(held.count)
        for command in held {
            writer.append(command.id)
            writer.uint32(command.claim)
        }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        guard let pid = Int32(exactly: try reader.uint32("pid")) else { throw WireError(.badValue, "pid") }
        self.pid = pid
        startTime = try reader.int64("start time")
        bootID = try reader.text8("boot id")
        concurrency = try reader.uint16("concurrency")
        grace = .milliseconds(try reader.uint32("grace"))
        types = []
        for _ in 0..<(try reader.uint8("types")) { types.append(try reader.text8("type")) }
        executing = []
        for _ in 0..<(try reader.uint16("executing")) {
            executing.append(
                CommandClaim(id: try reader.id("executing id"), claim: try reader.uint32("executing claim")))
        }
    }
}

/// The program of a worker, sent before each ``Hello``. Release 0.1.0 does not send it, and refuses a hello that has more
/// fields than its own, so these are a message of their own.
package struct Program: Sendable, Equatable {
    /// The release.
    package var version: String
    /// The newest version of the store's tables that it knows.
    package var store: Int
    /// The versions of frames that it can read.
    package var frames: ClosedRange<UInt8>

    package init(
        version: String = SluiceVersion.current, store: Int,
        frames: ClosedRange<UInt8> = FrameHead.version...FrameHead.version
    ) {
        self.version = version
        self.store = store
        self.frames = frames
    }

    func write(to writer: inout ByteWriter) {
        writer.text8(version)
        writer.uint16(store)
        writer.append(frames.lowerBound)
        writer.append(frames.upperBound)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        version = try reader.text8("program version")
        store = try reader.uint16("store version")
        let lowest = try reader.uint8("lowest frame version")
        let highest = try reader.uint8("highest frame version")
        guard lowest <= highest else { throw WireError(.badValue, "highest frame version") }
        frames = lowest...highest
    }
}

internal import CLinux
internal import Glibc
internal import Host
internal import Transfers

/// The thread of a guarded program: it starts the guardian and moves bytes until the program has ended and
/// its outputs are read. Only its own thread calls ``run()``, and only that uses the variables.
final class ProgramLoop {
    /// How long outputs are read after the end of the program: a process that is out of reach may keep them
    /// open for ever.
    static let readingTime: Duration = .seconds(2)
    static let chunk = 64 << 10
    /// More than a pipe holds.
    static let lastRead = 1 << 20

    let program: GuardedProgram
    let launcher: GuardianLauncher
    let events: ProgramEventQueue
    let stop: ProgramStop
    let wake: ProgramWake

    var pipes: ProgramPipes?
    var guardian: OpenFile?
    var commands: OpenFile?
    var input = ProgramInput()
    var reports = ReportReader()
    var end = ProgramEnd(outcome: .guardianLost)
    var hasOutcome = false
    /// Whether the guardian has sent TERM before the program ended.
    var wasTerminated = false
    /// When the program started.
    var started: MonotonicTime?
    var lastOutput = MonotonicTime.zero
    /// The size of the outputs that are files, when it was last seen.
    private var fileSize: Int64 = 0
    /// When reading of the outputs ends.
    var readingEnd: MonotonicTime?

    init(
        _ program: GuardedProgram, launcher: GuardianLauncher, events: ProgramEventQueue, stop: ProgramStop,
        wake: ProgramWake
    ) {
        self.program = program
        self.launcher = launcher
        self.events = events
        self.stop = stop
        self.wake = wake
    }

    func run() {
        // A write to an input that the program has closed must be an error, not the end of this process.
        clinux_block_signals()
        do throws(ProgramStartFailure) {
            try start()
            withUnsafeTemporaryAllocation(byteCount: Self.chunk, alignment: 16) { buffer in
                while step(buffer) {}
            }
        } catch {
            end.outcome = .notStarted(error)
        }
        closeAll()
        reports.finish()
        if let report = reports.next(now: .now, isLast: true) { events.add(.report(report)) }
        end.reports = reports.counts
        end.stop = stop.cause
        // A program that ended by itself, just before the order came, was not stopped.
        if hasOutcome, !wasTerminated, end.outcome.isByItself { end.stop = nil }
        events.add(.ended(end))
        events.finish()
    }

    private func start() throws(ProgramStartFailure) {
        guard wake.descriptor >= 0 else { throw ProgramStartFailure(.prepare, EMFILE) }
        var pipes: ProgramPipes
        do throws(SystemError) { pipes = try ProgramPipes(for: program) } catch {
            throw ProgramStartFailure(.prepare, error.code)
        }
        let (started, isWhole) = try program.start(pipes, by: launcher)
        if !isWhole { end.outcome = .notStarted(ProgramStartFailure(.prepare, EPIPE)) }
        // The end of file of an output must mean that the program has closed it.
        (pipes.input, pipes.output, pipes.error, pipes.report) = (nil, nil, nil, nil)
        if case .bytes(let bytes) = program.input { input = ProgramInput(bytes) }
        if input.isDone { pipes.inputEnd = nil }
        self.pipes = pipes
        fileSize = fileSizeNow()
        guardian = OpenFile(owning: started.events)
        commands = OpenFile(owning: started.commands)
    }

    private func closeAll() {
        pipes = nil
        guardian = nil
        commands = nil
    }

    // MARK: One step

    /// Waits, and handles what has come.
    /// - Returns: false when the guardian is gone and the outputs are read.
    private func step(_ buffer: UnsafeMutableRawBufferPointer) -> Bool {
        carryOutOrders()
        let isFull = events.isFull
        var entries = waits(isFull: isFull)
        let timeout = timeout(isFull: isFull, now: .now)
        _ = entries.withUnsafeMutableBytes { clinux_wait($0.baseAddress, 6, timeout?.nanoseconds ?? Int64.max) }
        let now = MonotonicTime.now
        if entries[0].revents != 0 { wake.drain() }
        if entries[2].revents != 0, let file = pipes?.outputEnd, case .end = read(file, .output, buffer, now) {
            pipes?.outputEnd = nil
        }
        if entries[3].revents != 0, let file = pipes?.errorEnd, case .end = read(file, .error, buffer, now) {
            pipes?.errorEnd = nil
        }
        if entries[4].revents != 0 { readReports(buffer, now) }
        if entries[5].revents != 0, let end = pipes?.inputEnd, input.write(to: end.descriptor) { pipes?.inputEnd = nil }
        // After the outputs, so that those of a program that has ended are read before the deadline is set.
        if entries[1].revents != 0 { receive(now) }
        if let report = reports.next(now: now) { events.add(.report(report)) }
        if isFull { lastOutput = now }
        checkTimes(now)
        return !isDone(buffer, now)
    }

    private func waits(isFull: Bool) -> [pollfd] {
        func entry(_ file: OpenFile?, _ events: CInt = POLLIN) -> pollfd {
            pollfd(fd: file?.descriptor ?? -1, events: Int16(events), revents: 0)
        }
        // The program may write before the guardian reports its start, which must be the first event.
        let reads = started != nil || guardian == nil || readingEnd != nil
        return [
            pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0), entry(guardian),
            entry(reads && !isFull ? pipes?.outputEnd : nil), entry(reads && !isFull ? pipes?.errorEnd : nil),
            entry(reads ? pipes?.reportEnd : nil),
            entry(pipes?.inputEnd, POLLOUT),
        ]
    }

    /// The time to the next deadline; nil without one.
    private func timeout(isFull: Bool, now: MonotonicTime) -> Duration? {
        var next = reports.due ?? .distantFuture
        if let readingEnd, !outputsAreClosed { next = min(next, readingEnd) }
        if let started, readingEnd == nil, stop.cause == nil {
            if let timeout = program.timeout { next = min(next, started + timeout) }
            if let idle = program.idleTimeout, !isFull { next = min(next, lastOutput + idle) }
        }
        return next == .distantFuture ? nil : max(next - now, .zero)
    }

    private func checkTimes(_ now: MonotonicTime) {
        guard let started, readingEnd == nil, stop.cause == nil else { return }
        if let timeout = program.timeout, now >= started + timeout {
            stop.order(.timedOut, grace: program.grace)
        } else if let idle = program.idleTimeout, now >= lastOutput + idle {
            // The program writes these itself, so that their bytes are seen only here.
            let size = fileSizeNow()
            if size == fileSize { stop.order(.idle, grace: program.grace) } else { lastOutput = now }
            fileSize = size
        }
    }

    /// The size of the outputs that are files.
    private func fileSizeNow() -> Int64 {
        var size: Int64 = 0
        for case .file(let file) in [program.output, program.error] {
            var facts = stat()
            if fstat(file.descriptor, &facts) == 0 { size &+= Int64(facts.st_size) }
        }
        return size
    }

    private func carryOutOrders() {
        guard let order = stop.take(), let commands else { return }
        var command = clinux_guardian_command()
        command.kind = order.grace <= .zero ? 2 : 1
        command.grace = GuardedProgram.milliseconds(order.grace)
        // The guardian is gone where this fails, and its end follows.
        _ = write(commands.descriptor, &command, MemoryLayout<clinux_guardian_command>.size)
    }

    private var outputsAreClosed: Bool {
        pipes?.outputEnd == nil && pipes?.errorEnd == nil && pipes?.reportEnd == nil
    }

    private func isDone(_ buffer: UnsafeMutableRawBufferPointer, _ now: MonotonicTime) -> Bool {
        // Also while the grace of descendants runs: those that write then get SIGPIPE.
        if let readingEnd, now >= readingEnd, !outputsAreClosed { closeOutputs(buffer, now) }
        return guardian == nil && outputsAreClosed
    }
}

extension ProgramEnd.Outcome {
    fileprivate var isByItself: Bool {
        switch self {
        case .exited, .signalled: true
        case .notStarted(let failure): failure.step != .cancelled
        case .guardianLost: false
        }
    }
}

extension ProgramLoop {
    enum ReadResult {
        case bytes
        case nothing
        case end
    }

    /// Reads one chunk of an output.
    func read(
        _ file: OpenFile, _ stream: ProgramEvent.Stream, _ buffer: UnsafeMutableRawBufferPointer,
        _ now: MonotonicTime
    ) -> ReadResult {
        let count = Glibc.read(file.descriptor, buffer.baseAddress, buffer.count)
        guard count > 0 else { return count < 0 && errno == EAGAIN ? .nothing : .end }
        lastOutput = now
        events.add(.output(stream, [UInt8](buffer[..<count])))
        return .bytes
    }

    func readReports(_ buffer: UnsafeMutableRawBufferPointer, _ now: MonotonicTime) {
        guard let file = pipes?.reportEnd else { return }
        let count = Glibc.read(file.descriptor, buffer.baseAddress, buffer.count)
        guard count > 0 else {
            if count == 0 || errno != EAGAIN { pipes?.reportEnd = nil }
            return
        }
        lastOutput = now
        reports.append(buffer[..<count], now: now)
    }

    /// Reads the bytes that the pipes still hold, and closes them.
    func closeOutputs(_ buffer: UnsafeMutableRawBufferPointer, _ now: MonotonicTime) {
        if let file = pipes?.outputEnd, !drain(file, .output, buffer, now) { end.outputIsWhole = false }
        if let file = pipes?.errorEnd, !drain(file, .error, buffer, now) { end.outputIsWhole = false }
        readReports(buffer, now)
        pipes?.outputEnd = nil
        pipes?.errorEnd = nil
        pipes?.reportEnd = nil
    }

    /// - Returns: whether the end of the output was reached.
    private func drain(
        _ file: OpenFile, _ stream: ProgramEvent.Stream, _ buffer: UnsafeMutableRawBufferPointer,
        _ now: MonotonicTime
    ) -> Bool {
        // A process that still has the output open may write for ever.
        for _ in 0..<Self.lastRead / Self.chunk {
            switch read(file, stream, buffer, now) {
            case .bytes: continue
            case .nothing: return false
            case .end: return true
            }
        }
        return false
    }

    // MARK: The guardian

    /// Receives one event of the guardian, or its end.
    func receive(_ now: MonotonicTime) {
        guard let file = guardian else { return }
        var event = clinux_guardian_event()
        let size = MemoryLayout<clinux_guardian_event>.size
        guard Glibc.read(file.descriptor, &event, size) == size else {
            guardian = nil
            endReading(now)
            return
        }
        switch UInt32(bitPattern: event.kind) {
        case CLINUX_GUARDIAN_WAITING.rawValue: events.add(.waitingForLock)
        case CLINUX_GUARDIAN_STARTED.rawValue:
            started = now
            lastOutput = now
            events.add(.started(pid: event.pid))
        case CLINUX_GUARDIAN_FAILED.rawValue:
            hasOutcome = true
            end.outcome = .notStarted(ProgramStartFailure(event))
            wasTerminated = event.flags & CLINUX_GUARDIAN_TERMINATED != 0
            endReading(now)
        case CLINUX_GUARDIAN_EXITED.rawValue: endReading(now)
        case CLINUX_GUARDIAN_ENDED.rawValue:
            note(event)
            endReading(now)
        default: break
        }
    }

    /// The program has ended.
    private func endReading(_ now: MonotonicTime) {
        pipes?.inputEnd = nil
        if readingEnd == nil { readingEnd = now + Self.readingTime }
    }

    private func note(_ event: clinux_guardian_event) {
        let signal = event.status & 0x7F
        hasOutcome = true
        wasTerminated = event.flags & CLINUX_GUARDIAN_TERMINATED != 0
        end.outcome = signal == 0 ? .exited(event.status >> 8 & 0xFF) : .signalled(signal)
        end.wasKilled = event.flags & CLINUX_GUARDIAN_KILLED != 0
        end.survivors = Int(event.survivors)
        end.duration = .nanoseconds(Int64(clamping: event.duration))
        end.userTime = .microseconds(Int64(clamping: event.user_time))
        end.systemTime = .microseconds(Int64(clamping: event.system_time))
        end.maxResident = Int64(clamping: event.max_resident)
    }
}

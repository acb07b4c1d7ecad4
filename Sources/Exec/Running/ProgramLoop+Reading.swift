internal import CLinux
internal import Glibc
internal import Host
internal import Transfers

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

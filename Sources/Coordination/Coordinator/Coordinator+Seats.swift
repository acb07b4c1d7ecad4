internal import CLinux
internal import Commands
internal import Host
internal import Logging
internal import Store
internal import Wire
internal import ZeroMQ

/// Workers come and go.
extension Coordinator {
    func meet(_ head: FrameHead, _ hello: Hello) {
        let seat = head.seat
        guard seat < 256 else { return }
        if dispatcher.seats[seat]?.epoch == head.epoch {
            setNeedsControl()
            return
        }
        // Late word of one who is dead.
        guard !seating.isTaken(seat, from: head.epoch) else { return }
        // The newcomer holds the seat's lock, which proves that whoever sat there is dead.
        let offersToReturn = dispatcher.leave(seat: seat, now: Int64(clinux_monotonic()))
        forget(seat: seat)
        do {
            var options = Socket.Options()
            options.sendHighWaterMark = 0
            options.immediate = false
            options.maximumMessageSize = 16 << 20
            let socket = try Socket(.push, context: context, loop: loop, options: options)
            try socket.bind(.ipc(directoryDescriptor: runDescriptor, name: RunDirectory.Socket.offers(seat: seat).name))
            let process = WatchedProcess(pid: hello.pid, startTime: hello.startTime, bootID: hello.bootID)
            let connection = WorkerConnection(socket: socket, epoch: head.epoch, process: process)
            connections[seat] = connection
            if let descriptor = connection.process?.descriptor {
                connection.watch = loop.whenReadable(descriptor: descriptor) { [weak self] in
                    self?.assumeIsolated { $0.processEnded(seat: seat) }
                }
            }
        } catch {
            logger.error("A worker cannot be greeted: \(error)", metadata: ["seat": "\(seat)"])
            return
        }
        let record = WorkerRecord(seat: seat, epoch: head.epoch, hello: hello)
        dispatcher.register(record)
        absences.settled(seat: seat)
        logger.info("Worker greeted.", metadata: ["seat": "\(seat)", "pid": "\(hello.pid)"])
        hub.worker(record, state: "ready", at: .now)
        setNeedsControl()
        recordTypes(record.types)
        reapOthers(seat: seat, but: head.epoch, offersToReturn: offersToReturn)
        sweepPlan.forget(Set(0..<store.shardCount))
        sweepReady()
    }

    /// - Parameter types: what somebody can run. The sweep tries again where it fails.
    func recordTypes(_ types: Set<String>) {
        guard !types.isEmpty else { return }
        unrecorded.subtract(types)
        write { store throws(StoreError) in
            try store.record(types: types)
        } then: { coordinator, result in
            guard case .failure(let error) = result else { return }
            coordinator.unrecorded.formUnion(types)
            coordinator.report(error, "Types cannot be recorded")
        }
    }

    func forget(seat: Int) {
        if let watch = connections[seat]?.watch { loop.remove(watch) }
        connections[seat] = nil
        sequences[seat] = nil
        lastTransfers[seat] = nil
        followLocks(now: Int64(clinux_monotonic()))
    }
}

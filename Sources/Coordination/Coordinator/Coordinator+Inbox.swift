internal import CLinux
internal import Commands
internal import Logging
internal import Metrics
internal import NetworkControl
internal import Store
internal import Wire
internal import ZeroMQ

/// What comes in: reports of workers, hints of producers and people, subscriptions of monitors.
extension Coordinator {
    func receiveReports() {
        receive(reports) { head, message in
            if case .hello(let hello) = message { return meet(head, hello) }
            guard dispatcher.seats[head.seat]?.epoch == head.epoch else { return }
            let now = Int64(clinux_monotonic())
            switch message {
            case .state(let state): take(state, from: head.seat, now: now)
            case .statuses(let state, let reports):
                take(state, from: head.seat, now: now)
                take(reports, from: head.seat, now: now)
            case .transfers(let transfers):
                for link in transfers.links where link.allBytes > 0 {
                    lastTransfers[head.seat, default: [:]][LinkKey(link.destination, link.direction)] = link
                }
                dispatcher.links.report(transfers, worker: head.epoch, now: now)
                hub.transfers(transfers, worker: head.seat, at: .now)
            case .hello, .offers, .control, .hint, .submitted: break
            }
        }
    }

    private func take(_ state: WorkerState, from seat: Int, now: Int64) {
        let before = dispatcher.seats[seat]?.state.phase
        dispatcher.report(seat: seat, state: state, coordinator: incarnation, now: now)
        followLocks(now: now)
        setNeedsDispatch()
        if before != state.phase, let record = dispatcher.seats[seat] {
            hub.worker(record, state: record.phaseName, at: .now)
        }
    }

    /// What nobody was offered, because its shard was locked, is looked for where that is free again.
    func followLocks(now: Int64) {
        let free = dispatcher.followLocks(now: now)
        guard !free.isEmpty else { return }
        sweepPlan.forget(free)
        sweepReady(free)
    }

    private func take(_ reports: [StatusReport], from seat: Int, now: Int64) {
        var released: [CommandID] = []
        for report in reports {
            var report = report
            report.event.transition.seat = seat
            let id = report.event.transition.id
            dispatcher.transition(report, now: now)
            switch report.event.transition.status {
            case .new: released.append(id)
            case .queued, .sent, .blocked: break
            case .error, .success, .cancelled, .inDoubt, .tooManyTimes:
                if !cancels.isEmpty, cancels.removeValue(forKey: id) != nil { setNeedsControl() }
            }
            publish(report.event, now: now)
        }
        lookUp(released)
        setNeedsDispatch()
    }

    func publish(_ event: StatusEvent, now: Int64) {
        guard hub.wantsStatuses else { return }
        sequencer.add(event, now: now) { hub.status($0) }
    }

    func receiveHints() {
        receive(intake) { _, message in
            switch message {
            case .hint(let hint): take(hint)
            case .submitted(let submitted):
                for command in submitted.commands { dirtyShards.insert(command.id.shard(of: store.shardCount)) }
                dispatcher.insert(submitted.commands, now: Int64(clinux_monotonic()))
                setNeedsDispatch()
            case .hello, .state, .statuses, .transfers, .offers, .control: break
            }
        }
    }

    private func take(_ hint: Hint) {
        for id in hint.ids { dirtyShards.insert(id.shard(of: store.shardCount)) }
        switch hint.kind {
        case .ready, .changed:
            // What stands in memory stands there as it was.
            if hint.kind == .changed { dispatcher.changed(hint.ids) }
            // A bulk is found by reading the store in order, not one by one.
            if hint.ids.count > Submitted.maxCount { sweepReady() } else { lookUp(hint.ids) }
        case .cancelRequested: loadCancellationRequests()
        case .settingsChanged:
            loadPauses()
            loadOverrides()
        }
    }

    func receiveSubscriptions() {
        let wantedStatuses = hub.wantsStatuses
        if hub.receiveSubscriptions() { snapshot(restarts: !wantedStatuses) }
    }

    /// Reads what is there, bounded, so that one busy socket does not starve the others.
    private func receive(_ socket: borrowing Socket, _ body: (FrameHead, Message) -> Void) {
        do {
            for _ in 0..<256 {
                guard
                    let frame = try socket.receive({ bytes in
                        Result { () throws(WireError) in try Message.decode(bytes) }
                    })
                else { return }
                switch frame {
                case .success(let (head, message)): body(head, message)
                case .failure(let error):
                    dropped.increment()
                    if complaints.insert(error.description).inserted {
                        logger.warning("A frame was dropped: \(error)")
                    }
                }
            }
        } catch {
            logger.error("A socket cannot be read: \(error)")
        }
    }
}

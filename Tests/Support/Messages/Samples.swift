package import Commands
package import Wire

/// Random messages of every type. Numbers at the ends of their ranges are frequent, and so are the same few commands and
/// destinations, so that one message meets the state that another one left.
package enum Samples {
    package static func head(_ random: inout SeededRandom) -> FrameHead {
        FrameHead(seat: random.number(in: 0..<0x10000), epoch: number(&random), sequence: number(&random))
    }

    /// A random number that is not negative, small and large ones alike.
    package static func number(_ random: inout SeededRandom) -> Int64 {
        if random.chance(0.3) { return extremes[random.number(in: 0..<extremes.count)] }
        return Int64(random.next() >> UInt64(random.number(in: 1..<64)))
    }

    private static let extremes: [Int64] = [
        0, 1, 0x7FFF_FFFF, 0xFFFF_FFFF, 3_600_000_000, 1 << 53, .max / 2, .max - 1, .max,
    ]

    /// Any number.
    private static func signed(_ random: inout SeededRandom) -> Int64 {
        random.chance(0.5) ? number(&random) : random.chance(0.1) ? .min : -number(&random)
    }

    private static func id(_ random: inout SeededRandom) -> CommandID {
        guard random.chance(0.5) else { return random.id() }
        let number = UInt64(random.number(in: 1..<9))
        return CommandID(high: number, low: number)
    }

    private static func claim(_ random: inout SeededRandom) -> Int {
        random.chance(0.7) ? random.number(in: 1..<3) : Int(UInt32(truncatingIfNeeded: random.next()))
    }

    package static func text(_ random: inout SeededRandom) -> String {
        let words = [
            "", "a", "http://127.0.0.1:8080", "é😀", "no route to host", String(repeating: "ü", count: 100), "\0",
        ]
        return words[random.number(in: 0..<words.count)]
    }

    package static func many<Element>(_ random: inout SeededRandom, _ make: (inout SeededRandom) -> Element)
        -> [Element]
    {
        (0..<random.number(in: 0..<5)).map { _ in make(&random) }
    }

    package static func state(_ random: inout SeededRandom) -> WorkerState {
        var state = WorkerState()
        state.phase = random.chance(0.5) ? .ready : .draining
        state.seen = number(&random)
        state.resolved = number(&random)
        state.completed = number(&random)
        state.executing = random.number(in: 0..<0x10000)
        state.free = random.number(in: 0..<0x10000)
        state.freeHigh = random.number(in: 0..<0x10000)
        state.progress = number(&random)
        state.locked = Set(many(&random) { $0.number(in: 0..<256) })
        return state
    }

    package static func report(_ random: inout SeededRandom) -> StatusReport {
        let faults: [CommandFailure.Fault?] = [nil, .command, .link, .final, .credential, .reset, .destination]
        let transition = Transition(
            seq: signed(&random), id: id(&random),
            status: CommandStatus.allCases[random.number(in: 0..<9)],
            at: Timestamp(milliseconds: signed(&random)),
            claim: claim(&random), reason: random.chance(0.3) ? nil : text(&random))
        return StatusReport(
            event: StatusEvent(
                transition: transition, type: "upload", qos: QualityOfService.allCases[random.number(in: 0..<5)],
                destination: Destination(unchecked: text(&random)), retries: random.number(in: 0..<0x10000),
                shard: random.number(in: 0..<256)),
            fault: faults[random.number(in: 0..<faults.count)], isPushback: random.chance(0.2))
    }

    package static func held(_ random: inout SeededRandom) -> CommandClaim {
        CommandClaim(id: id(&random), claim: claim(&random))
    }

    package static func hello(_ random: inout SeededRandom) -> Hello {
        var hello = Hello(
            pid: Int32.random(in: 0...Int32.max, using: &random), startTime: signed(&random),
            bootID: text(&random), concurrency: random.number(in: 0..<0x10000), types: many(&random, text),
            executing: many(&random, held))
        hello.grace = .milliseconds(Int64(UInt32(truncatingIfNeeded: random.next())))
        return hello
    }

    package static func transfers(_ random: inout SeededRandom) -> TransferReport {
        func micros(_ random: inout SeededRandom) -> Duration? {
            random.chance(0.2) ? nil : .microseconds(UInt32(truncatingIfNeeded: random.next() | 1))
        }
        let links = many(&random) { random in
            TransferReport.Link(
                destination: Destination(unchecked: text(&random)), direction: random.chance(0.5) ? .up : .down,
                bytes: [number(&random), number(&random), number(&random)], rate: number(&random),
                inFlight: random.number(in: 0..<0x10000), roundTrip: micros(&random))
        }
        guard !links.isEmpty else { return TransferReport(links: [], transfers: []) }
        return TransferReport(
            links: links,
            transfers: many(&random) { random in
                var transfer = TransferReport.Transfer(
                    id: id(&random), claim: claim(&random),
                    link: random.number(in: 0..<links.count),
                    qos: QualityOfService.allCases[random.number(in: 0..<5)])
                transfer.pacing = [.free, .throttled, .paused][random.number(in: 0..<3)]
                transfer.isResumable = random.chance(0.5)
                transfer.isIdempotent = random.chance(0.5)
                transfer.hasMoved = random.chance(0.5)
                transfer.isWindowClosed = random.chance(0.5)
                transfer.isVerifying = random.chance(0.2)
                transfer.offset = number(&random)
                transfer.total = number(&random)
                transfer.rate = number(&random)
                transfer.acknowledged = number(&random)
                transfer.retransmitted = number(&random)
                transfer.roundTrip = micros(&random)
                transfer.minRoundTrip = micros(&random)
                transfer.firstByte = micros(&random)
                return transfer
            })
    }

    package static func offers(_ random: inout SeededRandom) -> Offers {
        Offers(
            first: number(&random) / 2,
            offers: many(&random) { random in
                var offer = Offers.Offer(
                    id: id(&random), type: random.chance(0.5) ? "noop" : text(&random),
                    qos: QualityOfService.allCases[random.number(in: 0..<5)],
                    suspect: random.chance(0.2), group: UInt32(truncatingIfNeeded: random.next()),
                    order: signed(&random))
                offer.turn = number(&random)
                offer.isSoleSuspect = offer.suspect && random.chance(0.5)
                return offer
            })
    }

    package static func control(_ random: inout SeededRandom) -> ControlState {
        var control = ControlState()
        control.registered = many(&random) { random in
            ControlState.Seat(seat: random.number(in: 0..<0x10000), epoch: number(&random))
        }
        control.cancels = many(&random, held)
        control.pauses = many(&random) { random in
            ControlState.Pause(
                group: UInt32(truncatingIfNeeded: random.next()), qualities: UInt8(truncatingIfNeeded: random.next()))
        }
        control.paces = many(&random) { random in
            ControlState.Pace(
                group: UInt32(truncatingIfNeeded: random.next()), direction: random.chance(0.5) ? .up : .down,
                qos: QualityOfService.allCases[random.number(in: 0..<5)], bytesPerSecond: number(&random))
        }
        control.stops = many(&random) { random in
            ControlState.Stop(random.chance(0.5) ? .release : .cancel, held(&random), reason: text(&random))
        }
        return control
    }

    package static func hint(_ random: inout SeededRandom) -> Hint {
        let kinds: [Hint.Kind] = [.ready, .cancelRequested, .settingsChanged, .changed]
        return Hint(kinds[random.number(in: 0..<kinds.count)], many(&random) { id(&$0) })
    }

    package static func submitted(_ random: inout SeededRandom) -> Submitted {
        Submitted(
            many(&random) { random in
                var command = ReadyCommand(
                    id: id(&random), type: random.chance(0.5) ? "noop" : text(&random),
                    qos: QualityOfService.allCases[random.number(in: 0..<5)],
                    destination: Destination(unchecked: text(&random)), turn: number(&random),
                    createdAt: Timestamp(milliseconds: number(&random) / 2))
                command.remaining = random.chance(0.3) ? nil : number(&random)
                return command
            })
    }

    package static func effects(_ random: inout SeededRandom) -> EffectsReport {
        EffectsReport(
            events: many(&random, report), ready: submitted(&random).commands,
            limited: submitted(&random).commands.map(\.id), hasRequests: random.chance(0.5))
    }

    static func unavailable(_ random: inout SeededRandom) -> Unavailable {
        Unavailable(
            many(&random) { random in
                let target = random.chance(0.5) ? CommandTarget(hash: random.next()) : nil
                return Unavailable.Answer(held(&random), target: target)
            })
    }

    /// One of each type.
    package static func all(_ random: inout SeededRandom) -> [Message] {
        [
            .hello(hello(&random)), .state(state(&random)), .statuses(state(&random), many(&random, report)),
            .transfers(transfers(&random)),
            .published(Published(topic: "collection/a\(random.number(in: 0..<9))", body: "{}")),
            .program(Program(version: text(&random), store: random.number(in: 0..<0x10000), frames: 1...9)),
            .effects(effects(&random)),
            .unavailable(unavailable(&random)),
            .commitTime(CommitTime(.microseconds(min(number(&random), 3_600_000_000)))),
            .offers(offers(&random)), .control(control(&random)), .handover, .hint(hint(&random)),
            .submitted(submitted(&random)),
        ]
    }
}

extension Message {
    package static func decode(_ bytes: [UInt8]) throws(WireError) -> (FrameHead, Message) {
        let result: Result<(FrameHead, Message), WireError> = bytes.withUnsafeBytes { buffer in
            do throws(WireError) { return .success(try decode(buffer)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}

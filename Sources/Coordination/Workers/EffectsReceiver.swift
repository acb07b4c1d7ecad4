internal import Commands
internal import Host
internal import Store

/// Tells the parts of the coordinator the effects of a write: monitors the transitions, the dispatcher the commands that
/// may run, and workers the cancellation requests. Confined to the loop.
final class EffectsReceiver {
    private let dispatch: DispatchRunner
    private let control: ControlPublisher
    private let events: EventPublisher

    init(dispatch: DispatchRunner, control: ControlPublisher, events: EventPublisher) {
        self.dispatch = dispatch
        self.control = control
        self.events = events
    }

    func receive(_ effects: Effects) {
        guard !effects.isEmpty else { return }
        let now = MonotonicTime.now
        for event in effects.events {
            if !event.transition.status.isClaimed { control.removeCancellation(of: event.transition.id) }
            events.publish(event, now: now)
        }
        control.requestCancellation(effects.requests)
        dispatch.insert(effects.ready, now: now)
        dispatch.setNeeded()
        control.setNeeded()
    }
}

import Commands
import NetworkControl
import Queue
import Testing

struct LinkOverrideChangeTests {
    private let now = Timestamp(milliseconds: 1000)

    @Test func `a field that is not given keeps its value`() {
        var change = LinkOverrideChange()
        change.maxRate = .some(5000)
        let first = change.apply(to: nil, now: now)
        #expect(first.override.maxRate == 5000 && first.setting?.since == now)
        change = LinkOverrideChange()
        change.isOffline = true
        let second = change.apply(to: first.setting, now: Timestamp(milliseconds: 2000))
        #expect(second.override.isOffline && second.override.maxRate == 5000)
        #expect(second.setting?.since == Timestamp(milliseconds: 2000))
    }

    @Test func `a change to the same keeps the time, and one to the default removes the setting`() {
        var change = LinkOverrideChange()
        change.isOffline = true
        let first = change.apply(to: nil, now: now)
        #expect(change.apply(to: first.setting, now: Timestamp(milliseconds: 2000)).setting == first.setting)
        change.isOffline = false
        #expect(change.apply(to: first.setting, now: now).setting == nil)
    }

    @Test func `without starts there is no burst`() {
        var change = LinkOverrideChange()
        change.starts = .some(StartRate(text: "30/s"))
        change.burst = .some(5)
        let first = change.apply(to: nil, now: now)
        #expect(first.override.burst == 5)
        change = LinkOverrideChange()
        change.starts = .some(nil)
        #expect(change.apply(to: first.setting, now: now).override.burst == nil)
    }
}

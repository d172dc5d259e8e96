/**
 * Counts by client address. An IPv6 client has a whole network of addresses, which counts as one. Source: RFC 4291
 * §2.5.4.
 */
import { isIPv6 } from 'node:net'

/** @returns the IPv4 address, or the first 64 bits of an IPv6 address */
export function addressKey(address: string): string {
  if (!address.includes(':') || !isIPv6(address)) return address
  const [head = '', tail] = address.split('%', 1)[0]?.split('::') ?? []
  const first = groupsOf(head)
  if (tail === undefined) return first.slice(0, 4).join(':')
  const missingGroups = 8 - first.length - groupsOf(tail).length
  const groups = [
    ...first,
    ...Array.from({ length: Math.max(0, missingGroups) }, () => '0'),
    ...groupsOf(tail),
  ]
  return groups.slice(0, 4).join(':')
}

/** A trailing IPv4 address stands for two groups. Neither is among the first four groups. */
function groupsOf(text: string): string[] {
  if (text === '') return []
  return text
    .split(':')
    .flatMap((group) =>
      group.includes('.') ? ['0', '0'] : [group.toLowerCase().replace(/^0+(?=.)/, '')],
    )
}

/** Limits events per address and minute. */
export class AddressRates {
  readonly #maxPerMinute: number
  readonly #now: () => number
  #counts = new AddressCounts()
  #windowStart = -Infinity

  /** @param now returns the time in milliseconds */
  constructor(maxPerMinute: number, now: () => number) {
    this.#maxPerMinute = maxPerMinute
    this.#now = now
  }

  /**
   * Counts one event.
   *
   * @returns 0; or, if the address has reached its limit, the seconds until it may try again, and nothing is counted
   */
  take(address: string): number {
    const now = this.#now()
    if (now - this.#windowStart >= minute) {
      this.#windowStart = now
      this.#counts = new AddressCounts()
    }
    const key = addressKey(address)
    if (this.#counts.of(key) >= this.#maxPerMinute) {
      return Math.max(1, Math.ceil((this.#windowStart + minute - now) / 1000))
    }
    this.#counts.add(key)
    return 0
  }
}

const minute = 60_000

/** Counts open streams and connections per address. */
export class AddressCounts {
  readonly #counts = new Map<string, number>()

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  add(key: string): void {
    this.#counts.set(key, this.of(key) + 1)
  }

  remove(key: string): void {
    const remaining = this.of(key) - 1
    if (remaining > 0) this.#counts.set(key, remaining)
    else this.#counts.delete(key)
  }
}

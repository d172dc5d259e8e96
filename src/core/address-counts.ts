/** Counts by client address. An IPv6 client has a whole network of addresses, which counts as one. Source: RFC 4291 §2.5.4. */
import { isIPv6 } from 'node:net'

/** @returns the address, or of an IPv6 one its first 64 bits */
export function addressKey(address: string): string {
  if (!address.includes(':') || !isIPv6(address)) return address
  const [head = '', tail] = address.split('%', 1)[0]?.split('::') ?? []
  const first = groupsOf(head)
  if (tail === undefined) return first.slice(0, 4).join(':')
  const missing = 8 - first.length - groupsOf(tail).length
  const whole = [
    ...first,
    ...Array.from({ length: Math.max(0, missing) }, () => '0'),
    ...groupsOf(tail),
  ]
  return whole.slice(0, 4).join(':')
}

/** An IPv4 address at the end stands for two groups, neither of them among the first four. */
function groupsOf(text: string): string[] {
  if (text === '') return []
  return text
    .split(':')
    .flatMap((group) =>
      group.includes('.') ? ['0', '0'] : [group.toLowerCase().replace(/^0+(?=.)/, '')],
    )
}

/** What happens in a minute. */
export class AddressRates {
  readonly #most: number
  readonly #now: () => number
  #counts = new AddressCounts()
  #began = -Infinity

  /** @param now milliseconds */
  constructor(most: number, now: () => number) {
    this.#most = most
    this.#now = now
  }

  /**
   * Counts one more.
   *
   * @returns 0, or, if the address has reached its limit, the seconds until it may try again; then nothing is counted
   */
  take(address: string): number {
    const now = this.#now()
    if (now - this.#began >= minute) {
      this.#began = now
      this.#counts = new AddressCounts()
    }
    const key = addressKey(address)
    if (this.#counts.of(key) >= this.#most) {
      return Math.max(1, Math.ceil((this.#began + minute - now) / 1000))
    }
    this.#counts.add(key)
    return 0
  }
}

const minute = 60_000

/** Counts what is open now: streams, connections. */
export class AddressCounts {
  readonly #counts = new Map<string, number>()

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  add(key: string): void {
    this.#counts.set(key, this.of(key) + 1)
  }

  remove(key: string): void {
    const left = this.of(key) - 1
    if (left > 0) this.#counts.set(key, left)
    else this.#counts.delete(key)
  }
}

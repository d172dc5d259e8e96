/**
 * A queue that is fair between clients, and between the requests of each client. Clients take turns: a client whose
 * statements ran recently waits behind other clients. Statements of one client are ordered by how many statements their
 * request has already sent, so that the first statement of a new request runs before the second one of any other. To
 * prevent starvation, every fourth slot goes to the oldest request. Source: start-time fair queuing, Goyal et al. 1996.
 */

import { LinkedList, unlisted, type ListItem } from '../core/collections.js'

/** Statements after this many of one request share one priority level. */
const maxLevels = 64
/** One in this many slots goes to the oldest request. */
const slotsPerOldest = 4
/** Clients without waiting statements whose turns are remembered. */
const maxIdleClients = 1000

interface RequestState {
  /** The order of arrival. */
  readonly sequence: number
  /** The number of statements that it has sent or queued. */
  statementsSent: number
}

interface WaitingItem<Item> extends ListItem<WaitingItem<Item>> {
  readonly item: Item
  readonly level: LinkedList<WaitingItem<Item>>
  readonly state: RequestState
  readonly client: ClientState<Item>
}

interface ClientState<Item> {
  /** Waiting items by priority level, in order of arrival. */
  readonly levels: LinkedList<WaitingItem<Item>>[]
  waiting: number
  /** The client with the lowest turn is next. Each statement that begins raises it by 1. */
  turn: number
}

export class FairQueue<Item extends object> {
  readonly #clients = new Map<string, ClientState<Item>>()
  readonly #waiting = new WeakMap<Item, WaitingItem<Item>>()
  readonly #requests = new WeakMap<object, RequestState>()
  #size = 0
  #count = 0
  #slotsUsed = 0
  /** The turn of the statement that began last. Clients that wait again begin here, so that no client saves up turns. */
  #turn = 0

  get size(): number {
    return this.#size
  }

  /**
   * @param request the same object for all statements of one request
   * @param client the name of the request's client. Default: a client for all requests without a name
   */
  enqueue(request: object, item: Item, client = ''): void {
    const state = this.#stateOf(request)
    const index = Math.min(state.statementsSent++, maxLevels - 1)
    const clientState = this.#activeClient(client)
    const { levels } = clientState
    while (levels.length <= index) levels.push(new LinkedList())
    const level = levels[index] as LinkedList<WaitingItem<Item>>
    const waiting: WaitingItem<Item> = { item, level, state, client: clientState, ...unlisted }
    this.#waiting.set(item, waiting)
    level.add(waiting)
    clientState.waiting++
    this.#size++
  }

  /** Counts a statement that runs without waiting. */
  countSent(request: object, client = ''): void {
    this.#stateOf(request).statementsSent++
    this.#takeTurn(this.#activeClient(client))
  }

  /** Removes the next item and returns it. @param canRun items for which it returns false stay in the queue */
  dequeue(canRun: (item: Item) => boolean = () => true): Item | undefined {
    const isOfOldest = this.#slotsUsed % slotsPerOldest === slotsPerOldest - 1
    const next = isOfOldest ? this.#firstOfOldest(canRun) : this.#firstByTurn(canRun)
    if (next === undefined) return undefined
    this.#slotsUsed++
    this.remove(next.item)
    // The oldest request may be of a client that is far from its turn.
    if (isOfOldest) next.client.turn++
    else this.#takeTurn(next.client)
    return next.item
  }

  /** Of clients with the same turn, the one whose request is older is first. */
  #firstByTurn(canRun: (item: Item) => boolean): WaitingItem<Item> | undefined {
    let first: WaitingItem<Item> | undefined
    for (const client of this.#clients.values()) {
      if (client.waiting === 0 || (first !== undefined && client.turn > first.client.turn)) continue
      const waiting = firstByLevel(client, canRun)
      if (waiting === undefined) continue
      const isBefore =
        first === undefined ||
        client.turn < first.client.turn ||
        waiting.state.sequence < first.state.sequence
      if (isBefore) first = waiting
    }
    return first
  }

  #firstOfOldest(canRun: (item: Item) => boolean): WaitingItem<Item> | undefined {
    let oldest: WaitingItem<Item> | undefined
    for (const { levels, waiting: count } of this.#clients.values()) {
      if (count === 0) continue
      for (const level of levels)
        for (let waiting = level.first; waiting !== undefined; waiting = waiting.next) {
          const isOlder = oldest === undefined || waiting.state.sequence < oldest.state.sequence
          if (isOlder && canRun(waiting.item)) oldest = waiting
        }
    }
    return oldest
  }

  /** @returns false if the item was not waiting */
  remove(item: Item): boolean {
    const waiting = this.#waiting.get(item)
    if (waiting === undefined) return false
    this.#waiting.delete(item)
    waiting.level.delete(waiting)
    waiting.client.waiting--
    this.#size--
    return true
  }

  /** Empties the queue. @returns the items, the next one first */
  clear(): Item[] {
    const items: Item[] = []
    for (let item = this.dequeue(); item !== undefined; item = this.dequeue()) items.push(item)
    return items
  }

  #stateOf(request: object): RequestState {
    let state = this.#requests.get(request)
    if (state === undefined)
      this.#requests.set(request, (state = { sequence: this.#count++, statementsSent: 0 }))
    return state
  }

  #activeClient(name: string): ClientState<Item> {
    let client = this.#clients.get(name)
    if (client === undefined) {
      if (this.#clients.size >= maxIdleClients + 2 * this.#size) this.#forgetIdleClients()
      this.#clients.set(name, (client = { levels: [], waiting: 0, turn: 0 }))
    }
    if (client.waiting === 0) client.turn = Math.max(client.turn, this.#turn)
    return client
  }

  #takeTurn(client: ClientState<Item>): void {
    this.#turn = Math.max(this.#turn, client.turn)
    client.turn++
  }

  #forgetIdleClients(): void {
    for (const [name, { waiting }] of this.#clients) if (waiting === 0) this.#clients.delete(name)
  }
}

function firstByLevel<Item>(
  { levels }: ClientState<Item>,
  canRun: (item: Item) => boolean,
): WaitingItem<Item> | undefined {
  for (const level of levels)
    for (let waiting = level.first; waiting !== undefined; waiting = waiting.next)
      if (canRun(waiting.item)) return waiting
  return undefined
}

/** The one application that the pages of the row `types` call: six routes of each of a hundred controllers. */

/** How many controllers there are. */
export const controllers = 100

export const all = Array.from({ length: controllers }, (_, index) => index)

/** The classes of one controller, as a compiler declares them: what is sent and what comes back. */
export const declareClasses = (index) => `
export declare class Maker${index} { id: number; name: string; since: Date }
export declare class Line${index} { product: number; quantity: number; note?: string }
export declare class Search${index} { q: string; page?: number; limit?: number }
export declare class NewItem${index} { name: string; price: number; soldAt?: Date; lines?: Line${index}[] }
export declare class Item${index} {
  id: number
  name: string
  price: number
  soldAt: Date
  note?: string
  tags: readonly string[]
  maker: Maker${index} | null
}
`

/** What every page sends to create or change an item. */
export const newItem = "{ name: 'a', price: 2, lines: [{ product: 1, quantity: 2 }] }"

import { restType, type PathType } from './path-types.js'
import type { Pattern } from './pattern.js'

interface Node<T> {
  readonly statics: Map<string, Node<T>>
  /** Parameters of one segment, the lowest rank first. */
  readonly edges: Edge<T>[]
  /** The value of the pattern that ends here. */
  leaf: T | undefined
  /** The value of the pattern whose parameter takes the rest of the path. */
  rest: T | undefined
}

interface Edge<T> {
  readonly type: PathType
  readonly node: Node<T>
}

/**
 * Finds the pattern of a path, segment by segment, and converts parameters meanwhile. A search visits each node at most
 * once, and only nodes that match its segments, so its time does not depend on the number of routes.
 */
export class SegmentTree<T extends object> {
  readonly #root: Node<T> = createNode()
  /** Complete paths without parameters, which take precedence. */
  readonly #staticPaths = new Map<string, T>()

  /**
   * @returns the existing value for the pattern, which is not replaced; `undefined` if the value was added. Names of
   * parameters are ignored: `/x/<a:int>` and `/x/<b:int>` are equal.
   */
  add(pattern: Pattern, value: T): T | undefined {
    let node = this.#root
    for (const segment of pattern.segments) {
      if (segment.kind === 'static') {
        node = staticChild(node, segment.text)
      } else if (segment.type === restType) {
        if (node.rest !== undefined) return node.rest
        node.rest = value
        return undefined
      } else {
        node = edgeFor(node, segment.type).node
      }
    }
    if (node.leaf !== undefined) return node.leaf
    node.leaf = value
    const asSent = pattern.names.length === 0 && !pattern.text.includes('%')
    if (asSent) this.#staticPaths.set(pattern.text, value)
    return undefined
  }

  /**
   * @param path as sent, without the query, with well-formed escapes
   * @param encoded whether the path has escapes
   * @param values receives the converted parameters from left to right; unchanged if nothing matches
   */
  find(path: string, encoded: boolean, values: (string | number)[]): T | undefined {
    const staticMatch = this.#staticPaths.get(path)
    if (staticMatch !== undefined) return staticMatch
    if (path.charCodeAt(0) !== slashCode) return undefined
    if (path.length === 1) return this.#root.leaf
    const end = path.charCodeAt(path.length - 1) === slashCode ? path.length - 1 : path.length
    return findFrom(this.#root, { path, end, encoded }, 1, values)
  }
}

const slashCode = 47

interface Subject {
  readonly path: string
  /** The end without a trailing slash, which is ignored. */
  readonly end: number
  readonly encoded: boolean
}

function findFrom<T>(
  node: Node<T>,
  subject: Subject,
  start: number,
  values: (string | number)[],
): T | undefined {
  const { path, end } = subject
  const slash = path.indexOf('/', start)
  const stop = slash === -1 || slash > end ? end : slash
  if (stop > start) {
    const text = textBetween(subject, start, stop)
    const child = node.statics.get(text)
    if (child !== undefined) {
      const found = stop === end ? child.leaf : findFrom(child, subject, stop + 1, values)
      if (found !== undefined) return found
    }
    for (const edge of node.edges) {
      const value = edge.type.convert(text)
      if (value === undefined) continue
      values.push(value)
      const found = stop === end ? edge.node.leaf : findFrom(edge.node, subject, stop + 1, values)
      if (found !== undefined) return found
      values.pop()
    }
  }
  if (node.rest !== undefined && start < end) values.push(textBetween(subject, start, end))
  return start < end ? node.rest : undefined
}

function textBetween({ path, encoded }: Subject, start: number, stop: number): string {
  const text = path.slice(start, stop)
  return encoded && text.includes('%') ? decodeURIComponent(text) : text
}

function createNode<T>(): Node<T> {
  return { statics: new Map(), edges: [], leaf: undefined, rest: undefined }
}

function staticChild<T>(node: Node<T>, text: string): Node<T> {
  const existing = node.statics.get(text)
  if (existing !== undefined) return existing
  const child = createNode<T>()
  node.statics.set(text, child)
  return child
}

function edgeFor<T>(node: Node<T>, type: PathType): Edge<T> {
  const existing = node.edges.find((edge) => edge.type === type)
  if (existing !== undefined) return existing
  const edge = { type, node: createNode<T>() }
  node.edges.push(edge)
  node.edges.sort((a, b) => a.type.rank - b.type.rank)
  return edge
}

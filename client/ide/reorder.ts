/** The list of tabs without dragging. It stands in for framer-motion, of which GraphiQL uses only this list. */
import { createElement, type ReactElement } from 'react'

const propertiesOfDragging = new Set(['axis', 'dragElastic', 'onReorder', 'value', 'values'])

function createPlain(tag: string) {
  return (properties: Readonly<Record<string, unknown>>): ReactElement =>
    createElement(
      tag,
      Object.fromEntries(
        Object.entries(properties).filter(([name]) => !propertiesOfDragging.has(name)),
      ),
    )
}

export const Reorder = { Group: createPlain('ul'), Item: createPlain('li') }

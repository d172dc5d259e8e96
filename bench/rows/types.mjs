/** A page that calls 600 typed routes once each: how long the compiler checks it. */
import { alternate, selectContenders } from '../harness/contenders.mjs'
import { pick, toFigure } from '../harness/figures.mjs'
import { timeTypeCheck, writeFolder } from '../harness/type-check.mjs'
import { writePage as filigree } from '../pages/filigree.mjs'
import { writePage as openapiFetch } from '../pages/openapi-fetch.mjs'
import { writePage as untyped } from '../pages/untyped.mjs'

const all = [
  { name: 'untyped', writePage: untyped },
  { name: 'Filigree', writePage: filigree },
  { name: 'openapi-fetch', writePage: openapiFetch },
]

export const row = {
  name: 'types',
  title: 'Type-checking 600 routes',
  targets: [
    { of: 'Filigree', atMost: 2000 },
    { of: 'Filigree', over: 'openapi-fetch', atMost: 1 },
  ],
  async measure(options) {
    const failures = []
    const folders = {}
    for (const { name, writePage } of selectContenders(all, options)) {
      folders[name] = await writeFolder(writePage())
    }
    try {
      const names = Object.keys(folders)
      const check = (name) => timeTypeCheck(folders[name].folder)
      const results = await alternate(names, options.starts, check, failures)
      const figures = [
        toFigure('checking types', 'ms', 'lower', pick(results, 'check')),
        toFigure('tsc, its start included', 'ms', 'lower', pick(results, 'whole')),
        toFigure('types instantiated', 'types', 'lower', pick(results, 'instantiations')),
      ]
      return { figures, failures }
    } finally {
      for (const { remove } of Object.values(folders)) await remove()
    }
  },
}

/** A project of 200 records with relations and services: how long the compiler checks it. */
import { pick, toFigure } from '../harness/figures.mjs'
import { alternate } from '../harness/contenders.mjs'
import { decorated, timeTypeCheck, writeFolder } from '../harness/type-check.mjs'
import { writeRecords } from '../pages/records.mjs'

export const row = {
  name: 'record-types',
  title: 'Type-checking 200 records',
  targets: [],
  async measure(options) {
    const failures = []
    const { folder, remove } = await writeFolder(writeRecords(200))
    try {
      const check = () => timeTypeCheck(folder, decorated)
      const results = await alternate(['Filigree'], options.starts, check, failures)
      const figures = [
        toFigure('checking types', 'ms', 'lower', pick(results, 'check')),
        toFigure('types instantiated', 'types', 'lower', pick(results, 'instantiations')),
      ]
      return { figures, failures }
    } finally {
      await remove()
    }
  },
}

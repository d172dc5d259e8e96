'use strict'
/**
 * The filters of a list on the page of the documentation: one line for each field, which opens the parameters of its operators.
 * The document is the compact one. Its parameters have `x-filter: { name, operators }`, and `x-operators` describes the operators.
 */

/** The schemas of operands that are not values of the field. */
const operandSchemas = {
  text: () => ({ type: 'string' }),
  flag: () => ({ type: 'string', enum: ['true', 'false'] }),
  list: (schema) => ({ type: 'array', items: schema }),
}

/**
 * Replaces each compact parameter of an operation with one parameter for each operator, as in the exact document.
 *
 * @param operators `x-operators` of the document
 */
function expandFilters(operation, operators = {}) {
  const { parameters } = operation ?? {}
  if (!Array.isArray(parameters)) return operation
  const expand = (parameter) => {
    const filter = parameter['x-filter']
    if (filter === undefined) return [parameter]
    const { name, operators: names } = filter
    const hasPlain = parameter.name === name
    // The parameter without an operator means `eq`.
    const shownNames = names.filter((one) => !hasPlain || one !== 'eq')
    const comparisons = shownNames.map((one) => {
      const { description, operand } = operators[one] ?? {}
      return {
        ...{ name: `${name}.${one}`, in: 'query', required: false, description },
        schema: operandSchemas[operand]?.(valueSchema(parameter)) ?? valueSchema(parameter),
        'x-filter': filter,
      }
    })
    return hasPlain
      ? [{ ...parameter, description: operators.eq?.description ?? '' }, ...comparisons]
      : comparisons
  }
  return { ...operation, parameters: parameters.flatMap(expand) }
}

/** The schema of a value. A compact parameter has another one only if its operator requires a list. */
function valueSchema({ schema }) {
  return schema?.type === 'array' ? schema.items : schema
}

/** A plugin that folds the filters of an operation. */
function filtersPlugin({ React: { createContext, createElement, useContext, useState } }) {
  const Folds = createContext(undefined)

  const parameters = (Original) => (props) => {
    const [opened, setOpened] = useState([])
    const { fields, folded } = foldFilters(props.parameters, opened)
    if (fields.size === 0) return createElement(Original, props)
    const toggle = (name) =>
      setOpened(opened.includes(name) ? opened.filter((one) => one !== name) : [...opened, name])
    const values = props.specSelectors.enteredValues(props.pathMethod)
    return createElement(
      Folds.Provider,
      { value: { fields, opened, toggle, values } },
      createElement(Original, { ...props, parameters: folded }),
    )
  }

  const parameterRow = (Original) => (props) => {
    const folds = useContext(Folds)
    const name = props.rawParam.get('x-fold')
    if (name === undefined) return createElement(Original, props)
    return createElement(FilterLine, { name, ...folds })
  }

  const FilterLine = ({ name, fields, opened, toggle, values }) => {
    const isOpen = opened.includes(name)
    const names = fields.get(name)
    const sent = names
      .map((one) => [one, values.get(`query.${one}`)])
      .filter(([, value]) => value !== undefined && value !== '' && value?.size !== 0)
      .map(([one, value]) => `${one} = ${value?.toJS?.().join(', ') ?? value}`)
    const operators = names.map((one) => (one === name ? '=' : one.slice(name.length + 1)))
    return createElement(
      'tr',
      { className: 'filter-line' },
      createElement(
        'td',
        { colSpan: 2 },
        createElement(
          'button',
          { type: 'button', 'aria-expanded': isOpen, onClick: () => toggle(name) },
          name,
        ),
        createElement(
          'span',
          { className: sent.length > 0 ? 'filter-values' : 'filter-operators' },
          (sent.length > 0 ? sent : operators).join(' · '),
        ),
      ),
    )
  }

  return {
    wrapComponents: { parameters, parameterRow },
    statePlugins: {
      spec: { selectors: { enteredValues }, wrapSelectors: { parameterWithMetaByIdentity } },
    },
  }
}

const metaOf = (state, pathMethod) => state.getIn(['meta', 'paths', ...pathMethod, 'parameters'])

/** @returns the values of an operation's parameters, by `query.` and name */
function enteredValues(state, pathMethod) {
  const parameters = metaOf(state, pathMethod)?.entrySeq().toArray() ?? []
  const values = parameters.map(([key, meta]) => [key.replace(/\.hash-.*$/, ''), meta.get('value')])
  return new Map(values)
}

/** Replaces a selector that merges all parameters of the operation to find one, and is called for each of them. */
const parameterWithMetaByIdentity = () => (state, pathMethod, parameter) => {
  const key = `${parameter.get('in')}.${parameter.get('name')}`
  const meta = metaOf(state, pathMethod)
  const parts = [meta?.get(key), meta?.get(`${key}.hash-${parameter.hashCode()}`)]
  return parameter.merge(...parts.filter((part) => part !== undefined))
}

/**
 * @param opened the fields whose operators are shown
 * @returns the names of the parameters of each field, and the parameters with a line in place of those that are folded
 */
function foldFilters(parameters, opened) {
  const fields = new Map()
  const folded = parameters.flatMap((parameter) => {
    const field = parameter.getIn(['x-filter', 'name'])
    if (field === undefined) return [parameter]
    const names = fields.get(field) ?? []
    fields.set(field, [...names, parameter.get('name')])
    const line = parameter.clear().set('in', 'query').set('name', field).set('x-fold', field)
    return [...(names.length === 0 ? [line] : []), ...(opened.includes(field) ? [parameter] : [])]
  })
  return { fields, folded }
}

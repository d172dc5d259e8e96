'use strict'
/**
 * The files of an upload on the page of the documentation, for routes whose files have no names in the document: a name and a
 * file, as often as needed.
 */

const uploadMedia = 'multipart/form-data'

/** @returns whether a part of the form may be a file of any name */
function takesAnyFile(requestBody, contentType) {
  const schema = requestBody?.getIn(['content', uploadMedia, 'schema'])
  return (
    contentType === uploadMedia && schema?.getIn(['additionalProperties', 'format']) === 'binary'
  )
}

/** A plugin that adds the files to the form of a request body. */
function uploadsPlugin({ React: { createElement, useState } }) {
  const RequestBody = (Original) => (props) => {
    const original = createElement(Original, props)
    if (!props.isExecute || !takesAnyFile(props.requestBody, props.contentType)) return original
    return createElement('div', null, original, createElement(Files, props))
  }

  const Files = ({ requestBody, requestBodyValue, onChange }) => {
    const [name, setName] = useState('file')
    const [fileCount, setFileCount] = useState(0)
    const parts =
      typeof requestBodyValue?.entries === 'function' ? [...requestBodyValue.entries()] : []
    const files = parts.filter(([, part]) => part?.get?.('value') instanceof File)
    // Swagger UI adds the value to those that it has. Without a value, a part is not sent.
    const setPart = (part, value) => onChange(requestBody.clear().set(part, value))
    const add = (file) => {
      if (file === undefined || name === '') return
      setPart(name, file)
      // Another key makes a new, empty input.
      setFileCount(fileCount + 1)
    }
    return createElement(
      'div',
      { className: 'upload-files' },
      createElement(
        'label',
        null,
        'Name of the file ',
        createElement('input', {
          type: 'text',
          value: name,
          onChange: ({ target }) => setName(target.value),
        }),
      ),
      createElement(
        'label',
        null,
        'File ',
        createElement('input', {
          key: fileCount,
          type: 'file',
          onChange: ({ target }) => add(target.files[0]),
        }),
      ),
      createElement(
        'ul',
        null,
        files.map(([part, value]) =>
          createElement(
            'li',
            { key: part },
            `${part}: ${value.get('value').name} `,
            createElement(
              'button',
              { type: 'button', className: 'btn', onClick: () => setPart(part, undefined) },
              `Remove ${part}`,
            ),
          ),
        ),
      ),
    )
  }

  return { wrapComponents: { RequestBody } }
}

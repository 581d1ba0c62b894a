/** A link from one document to another, or within one: `decide.md#rows-on-hold`, `#rights`. */
const TO_A_DOCUMENT = /^(?:([a-z-]+)\.md)?(?:#([\w-]+))?$/;

/** The topic of help at a path of the status page: `/help/decide.rows-on-hold` has `decide#rows-on-hold`. Undefined for other paths. */
export function topicAt(path: string): string | undefined {
  const [, topic] = /^\/help\/([\w-]{1,60}(?:\.[\w-]{1,60})?)$/.exec(path) ?? [];
  return topic?.replace('.', '#');
}

/** The help of a topic as a page. `markdown`: a document of ours, or a part of one. */
export async function helpPage(topic: string, markdown: string): Promise<string> {
  // Loaded at the first question, since most processes are never asked.
  const { Marked } = await import('marked');
  const [first = ''] = /^#+(?= )/m.exec(markdown) ?? [];
  const marked = new Marked({
    renderer: {
      /** A part of a document begins with a heading of the first level, too. */
      heading({ tokens, depth }) {
        const level = Math.max(1, depth - first.length + 1);
        return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
      },
      /** The process serves no other file of the checkout. */
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const [, page, anchor] = TO_A_DOCUMENT.exec(href) ?? [];
        const target = [page, anchor].filter((part) => part !== undefined).join('.');
        if (target !== '') return `<a href="${target}">${text}</a>`;
        return href.startsWith('https://') ? `<a href="${href}">${text}</a>` : text;
      },
      code: ({ lang }) => (lang === 'mermaid' ? '' : false),
    },
  });
  const title = first === '' ? `<h1>${topic}</h1>` : '';
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${topic} · Rollcall</title>
    <link rel="icon" href="../icon.svg" />
    <link rel="stylesheet" href="../status.css" />
  </head>
  <body>
    <main class="card help">${title}${await marked.parse(markdown)}</main>
    <footer><a href="../">status page</a></footer>
  </body>
</html>
`;
}

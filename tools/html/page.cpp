// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "html/page.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "html/escape.hpp"
#include "html/parts.hpp"

namespace pmukit::html {
namespace {

// Where the numbers are from, and what is missing from them. elsewhere: something is, which stands
// in another place of the page; nullptr: nothing is.
void add_badges(std::string &to, const std::string &source, const std::vector<std::string> &losses,
                const char *elsewhere)
{
    if (!source.empty())
        append(to, "<span class=\"badge source\">source={}</span> ", escaped(source));
    if (losses.empty() && !elsewhere)
        to += "<span class=\"badge whole\">nothing lost</span>";
    else if (losses.empty())
        append(to, "<span class=\"badge elsewhere\">incomplete: {}</span>", elsewhere);
    else
        to += "<span class=\"badge lost\">incomplete</span>";
    to += "</p>\n";
    if (losses.empty())
        return;
    to += "<ul class=\"losses\">\n";
    for (const std::string &loss : losses)
        append(to, "<li>{}</li>\n", escaped(loss));
    to += "</ul>\n";
}

void add_row(std::string &to, const Table &table, const std::vector<std::string> &cells)
{
    to += "<tr>";
    for (size_t i = 0; i < table.columns.size(); i++)
        append(to, "<td{}>{}</td>", table.columns[i].is_number ? " class=\"n\"" : "",
               i < cells.size() ? escaped(cells[i]) : "");
    to += "</tr>\n";
}

void add_table(std::string &to, const Figure &figure, size_t number)
{
    const Table &table = figure.table;
    append(to,
           "<details><summary>The numbers: {} rows</summary>\n"
           "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"numbers of figure "
           "{}\"><table>\n<caption>{}</caption>\n<thead><tr>",
           table.rows.size(), number, escaped(figure.title));
    for (const Table::Column &column : table.columns)
        append(to, "<th scope=\"col\"{}>{}</th>", column.is_number ? " class=\"n\"" : "",
               escaped(column.name));
    to += "</tr></thead>\n<tbody>\n";
    for (const std::vector<std::string> &row : table.rows)
        add_row(to, table, row);
    to += "</tbody>\n";
    if (!table.total.empty()) {
        to += "<tfoot>\n";
        add_row(to, table, table.total);
        to += "</tfoot>\n";
    }
    to += "</table></div></details>\n";
}

void add_figure(std::string &to, const Figure &figure, size_t number, bool page_lost)
{
    append(to, "<figure id=\"figure-{0}\" aria-labelledby=\"title-{0}\">\n<figcaption>\n", number);
    append(to, "<h2 id=\"title-{}\">{}</h2>\n<p class=\"meta\"><code>{}</code> ", number,
           escaped(figure.title), escaped(figure.pmu));
    add_badges(to, figure.source, figure.losses, page_lost ? "see above" : nullptr);
    for (const std::string &words : figure.words)
        append(to, "<p>{}</p>\n", escaped(words));
    to += "</figcaption>\n";
    to += text_of(figure.picture, figure.title);
    // The script fills it; who has none reads the tool tips and the table.
    to += "<p class=\"readout\" aria-live=\"polite\"></p>\n";
    add_table(to, figure, number);
    to += "</figure>\n";
}

void add_contents(std::string &to, const Page &page)
{
    to += "<nav aria-label=\"figures\"><ol>\n";
    for (size_t i = 0; i < page.figures.size(); i++)
        append(to, "<li><a href=\"#figure-{}\">{}</a> <code>{}</code></li>\n", i + 1,
               escaped(page.figures[i].title), escaped(page.figures[i].pmu));
    to += "</ol></nav>\n";
}

}  // namespace

std::string text_of(const Page &page)
{
    std::string out;
    out +=
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<meta name=\"color-scheme\" content=\"light dark\"/>\n";
    append(out, "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<header>\n<h1>{}</h1>\n",
           escaped(page.title), kStyle, escaped(page.title));
    for (const std::string &fact : page.facts)
        append(out, "<p>{}</p>\n", escaped(fact));
    out += "<p class=\"meta\">";
    const bool a_figure_lost = std::ranges::any_of(
        page.figures, [](const Figure &figure) { return !figure.losses.empty(); });
    add_badges(out, page.source, page.losses, a_figure_lost ? "see the figures" : nullptr);
    out += "</header>\n";
    add_contents(out, page);
    out += "<main>\n";
    for (size_t i = 0; i < page.figures.size(); i++)
        add_figure(out, page.figures[i], i + 1, !page.losses.empty());
    append(out, "</main>\n<footer><p>{}</p></footer>\n<script>\n{}</script>\n</body>\n</html>\n",
           escaped(page.program), kScript);
    return out;
}

}  // namespace pmukit::html

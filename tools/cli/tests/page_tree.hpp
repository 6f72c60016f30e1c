// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For tests: an HTML page of pmukit as a tree of elements, parsed by an XML parser, expat.
#pragma once

#include <expat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pmukit {

struct Element {
    std::string name, text;  // `text` includes the text of all children
    std::map<std::string, std::string> attributes;
    std::vector<std::unique_ptr<Element>> children;

    bool has_class(const std::string &wanted) const
    {
        const auto classes = attributes.find("class");
        return classes != attributes.end() &&
               (" " + classes->second + " ").find(" " + wanted + " ") != std::string::npos;
    }
    template <typename Wanted>
    void find(const Wanted &wanted, std::vector<const Element *> &found) const
    {
        if (wanted(*this))
            found.push_back(this);
        for (const auto &child : children)
            child->find(wanted, found);
    }
    std::vector<const Element *> all(const std::string &wanted) const
    {
        std::vector<const Element *> found;
        find([&wanted](const Element &element) { return element.name == wanted; }, found);
        return found;
    }
    std::vector<const Element *> of_class(const std::string &wanted) const
    {
        std::vector<const Element *> found;
        find([&wanted](const Element &element) { return element.has_class(wanted); }, found);
        return found;
    }
};

class PageParser {
public:
    PageParser() : parser_(XML_ParserCreate("UTF-8"))
    {
        XML_SetUserData(parser_, this);
        XML_SetElementHandler(parser_, begin, end);
        XML_SetCharacterDataHandler(parser_, text);
        open_.push_back(&root_);
    }
    ~PageParser() { XML_ParserFree(parser_); }
    PageParser(const PageParser &) = delete;
    PageParser &operator=(const PageParser &) = delete;

    // Returns the error; an empty text if the page is well-formed.
    std::string parse(const std::string &page)
    {
        if (XML_Parse(parser_, page.data(), static_cast<int>(page.size()), 1) == XML_STATUS_OK)
            return {};
        return std::string(XML_ErrorString(XML_GetErrorCode(parser_))) + " in line " +
               std::to_string(XML_GetCurrentLineNumber(parser_));
    }
    const Element &root() const { return root_; }

private:
    static void begin(void *self, const char *name, const char **attributes)
    {
        auto &open = static_cast<PageParser *>(self)->open_;
        auto made = std::make_unique<Element>();
        made->name = name;
        for (; *attributes; attributes += 2)
            made->attributes[attributes[0]] = attributes[1];
        open.back()->children.push_back(std::move(made));
        open.push_back(open.back()->children.back().get());
    }
    static void end(void *self, const char *) { static_cast<PageParser *>(self)->open_.pop_back(); }
    static void text(void *self, const char *text, int bytes)
    {
        for (Element *element : static_cast<PageParser *>(self)->open_)
            element->text.append(text, static_cast<size_t>(bytes));
    }

    XML_Parser parser_;
    Element root_;
    std::vector<Element *> open_;
};

}  // namespace pmukit
